package ncu

// Numbers of the fields that are read, per message, from the field lists that the profiler ships with
// and from reports of versions 2020.3 to 2025.3. A field that is known but has no use is in the lists too, so that
// what is left is what this reader does not know.

// magic begins a file.
const magic = "NVR\x00"

// knownVersion is FileHeader's in every report from 2020.3 to 2025.3.
const knownVersion = 7

const (
	fileHeaderVersion = 1

	blockSources      = 1 // how many follow in the payload, and so on
	blockResults      = 2
	blockSession      = 3
	blockStrings      = 4
	blockPayloadSize  = 5
	blockProcess      = 6
	blockRanges       = 7
	blockCommandLists = 8
	blockGraphs       = 9

	stringTableEntry = 1

	processPID  = 1
	processHost = 2
	processPath = 3
)

const (
	sessionPID         = 1
	sessionCreated     = 2
	sessionHost        = 3
	sessionTarget      = 4
	sessionProperties  = 5 // empty in all reports seen
	sessionAttributes  = 6
	sessionComments    = 7
	sessionVersion     = 8
	sessionExecutable  = 9
	sessionSettings    = 10
	sessionCommandLine = 11

	systemOS           = 1
	systemBuild        = 2
	systemProcessor    = 3
	systemArchitecture = 4
	systemName         = 5
	systemPlatform     = 6
	systemAddress      = 7

	addressText = 1
	addressType = 2

	attributesDevice = 1
	attributesName   = 2
	attributesEntry  = 3

	pairName  = 1
	pairValue = 2

	executablePath = 1
)

const (
	sourceRef      = 1
	sourceText     = 2 // never filled
	sourceBetween  = 3 // never filled
	sourceCubin    = 4
	sourceLevel    = 5 // of SASS, follows from the SM version
	sourceSM       = 6
	sourceFlags    = 7
	sourceFiles    = 8
	sourceSymbols  = 9
	fileEntry      = 1
	filePath       = 1
	fileText       = 2
	symbolFunction = 1
	symbolOther    = 2
	symbolName     = 1
	symbolAddress  = 2
	symbolIndex    = 3
)

const (
	resultThread         = 1
	resultCall           = 2
	resultProgram        = 3 // a handle, of no meaning outside the process
	resultKernel         = 4 // a handle
	resultMangled        = 5
	resultBase           = 6
	resultDemangled      = 7
	resultDimensions     = 8
	resultOffset         = 9 // 0 for CUDA
	resultGrid           = 10
	resultBlock          = 11
	resultComments       = 12
	resultMetric         = 13
	resultTime           = 14
	resultSource         = 15
	resultAPI            = 16 // 0: CUDA
	resultSection        = 17
	resultSectionNote    = 18
	resultRule           = 19
	resultUnsupported    = 20
	resultNVTX           = 21
	resultContext        = 22
	resultStream         = 23
	resultSeries         = 24
	resultClocks         = 25
	resultStack          = 28
	resultScope          = 29
	resultEmpty2025      = 31 // since 2025.3, an empty text in all reports seen
	resultDriver         = 35 // since 2025.3, the driver's version as a float
	clocksRequested      = 1
	clocksLocked         = 2
	axisX                = 1
	axisY                = 2
	axisZ                = 3
	sourceReferenceRef   = 1
	sourceReferenceLevel = 5

	metricName      = 1
	metricValue     = 2
	metricInstance  = 3
	metricCategory  = 4
	instanceKey     = 1
	instanceValue   = 2
	categorySampled = 1

	valueText   = 1
	valueFloat  = 2
	valueDouble = 3
	valueUint32 = 4
	valueUint64 = 5
)

const (
	sectionID          = 1
	sectionName        = 2
	sectionOrder       = 3
	sectionHeader      = 4
	sectionBody        = 5
	sectionExtra       = 6
	sectionDescription = 7
	sectionSet         = 8
	sectionExtends     = 9
	sectionDefinitions = 10
	sectionFilter      = 11
	sectionGroups      = 12 // how to collect, not what
	sectionSource      = 13

	setName    = 1
	headerRows = 1
	headerList = 2
	listMetric = 1 // of extra and source metrics

	definitionEntry  = 1
	definitionFilter = 3

	bodyItem     = 1
	bodyName     = 2
	bodyStyle    = 3
	itemTable    = 1
	itemBars     = 2
	itemBins     = 3
	itemLines    = 4
	itemGroup    = 5
	itemRoofline = 6
	itemSamples  = 7
	itemGrid     = 8 // unit by unit: its metrics are extra ones too
	itemFilter   = 200
	partLabel    = 1 // of tables and charts
	tableList    = 5
	barsList     = 5
	binsMetric   = 4
	linesList    = 4
	samplesList  = 3
	noList       = 0   // of a roofline, whose parts are formulas
	firstWidget  = 100 // memory chart and tables: fixed, without metrics of their own
	lastWidget   = 199
	groupItem    = 1
	metricSecID  = 1
	metricLabel  = 2
	metricHW     = 3
	metricShow   = 4
	metricUnit   = 5
	metricFilter = 6
	metricOption = 7
	metricLook   = 8
	metricGroups = 9
	optionName   = 1
	optionLabel  = 2
	optionFilter = 3
	filterMin    = 1
	filterMax    = 2
	filterSpan   = 3
	filterScope  = 4 // kinds of result: 1 kernel
	filterLast   = 7 // 5 to 7: more of that kind
)

const (
	ruleID      = 1
	ruleName    = 2
	ruleBody    = 3
	ruleSection = 4
	ruleMarker  = 5

	ruleItem     = 1
	ruleMessage  = 1
	ruleFocus    = 8
	ruleMetrics  = 9 // names of metrics that the message is about
	ruleSpeedup  = 10
	ruleTable    = 12
	ruleTable2   = 2 // 2 to 7: charts and a proposal
	ruleProposal = 7

	messageText  = 1
	messageType  = 2
	messageID    = 3
	messageTitle = 4

	focusID       = 1
	focusName     = 2
	focusValue    = 3
	focusSeverity = 4
	focusInfo     = 5

	speedupKind    = 1
	speedupPercent = 2
	speedupLocal   = 1
	speedupGlobal  = 2

	markerKind    = 1
	markerLine    = 2
	markerAddress = 3
	markerText    = 4
	markerType    = 5
	markerFile    = 6

	ruleTableHead   = 1
	ruleTableColumn = 2
	tableTitle      = 1
	tableText       = 2
	columnName      = 1
	columnText      = 4
	columnNumber    = 5
)

const (
	nvtxDomain    = 1
	nvtxThread    = 2
	nvtxStartEnd  = 3
	nvtxDefault   = 4
	domainID      = 1
	domainName    = 2
	threadID      = 1
	threadDomain  = 2
	openDomainID  = 1
	openRange     = 3
	pushName      = 1
	startName     = 2
	startThreadID = 5
)
