package kineto

// A keyNode is what stands between two values of an object, as a file writes it, and what that means:
// a comma, blanks, a key and a colon, or the bracket that closes the object.
//
// Events of a kind have the same keys in the same order and layout, so what comes next is guessed
// from what came last and compared in one go; only after a wrong guess is it scanned and looked up.
type keyNode struct {
	text   string // from the end of a value to the begin of the next, or to behind the bracket
	top    topKey
	field  field
	closes bool        // it is the bracket that closes the object
	next   [2]*keyNode // the last two that followed, latest first
}

// A topKey is a key of an event itself.
type topKey uint8

const (
	topNone topKey = iota
	topPh
	topCat
	topName
	topPid
	topTid
	topTs
	topDur
	topID
	topArgs
)

func topKeyOf(key []byte) topKey {
	switch string(key) {
	case "ph":
		return topPh
	case "cat":
		return topCat
	case "name":
		return topName
	case "pid":
		return topPid
	case "tid":
		return topTid
	case "ts":
		return topTs
	case "dur":
		return topDur
	case "id":
		return topID
	case "args":
		return topArgs
	}
	return topNone
}

// maxKeyNodes bounds what is remembered of a file that has a new key in each event.
const (
	maxKeyNodes = 1024
	maxKeyText  = 128
)

// member reads what is between two values: i is behind one, or behind the bracket that opens the
// object, and last was there before it. at is where the next value begins, or what is behind the
// closing bracket, or short or bad.
func (p *parser) member(i int, last *keyNode) (node *keyNode, at int) {
	b := p.b
	for _, guess := range &last.next {
		if guess != nil {
			if at = i + len(guess.text); at < len(b) && string(b[i:at]) == guess.text &&
				(guess.closes || !isSpace[b[at]]) {
				return guess, at
			}
		}
	}
	from := i
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	if i >= len(b) {
		return nil, short
	}
	if b[i] == '}' {
		return p.node(last, nil, b[from:i+1]), i + 1
	}
	if b[i] != '"' {
		return nil, bad
	}
	end, escaped := stringEnd(b, i+1)
	if end < 0 {
		return nil, end
	}
	at = skipSpace(b, end+1)
	if at < len(b) && b[at] != ':' {
		return nil, bad
	}
	if at = skipSpace(b, at+1); at >= len(b) {
		return nil, short
	}
	key := b[i+1 : end]
	if escaped {
		key = unquote(nil, key)
	}
	return p.node(last, key, b[from:at]), at
}

// node is the node of a text, remembered as what follows last. A nil key is the closing bracket.
func (p *parser) node(last *keyNode, key, text []byte) *keyNode {
	node := p.keys[string(text)]
	if node == nil {
		node = &keyNode{text: string(text), closes: key == nil, top: topKeyOf(key), field: fieldOf(key)}
		if len(p.keys) >= maxKeyNodes || len(text) > maxKeyText {
			return node
		}
		p.keys[node.text] = node
	}
	if last.next[0] != node {
		last.next[1], last.next[0] = last.next[0], node
	}
	return node
}
