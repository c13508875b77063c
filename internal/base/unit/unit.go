// Package unit says what a number measures: how it is printed, aligned and named.
package unit

// A Unit is the meaning of a column. Times are held in nanoseconds whatever they are printed in.
type Unit uint8

// The units.
const (
	Text     Unit = iota
	Count         // a plain integer
	ID            // an integer that is a name: never grouped, never summed
	Number        // a float without unit, printed in full
	Number1       // a float without unit, printed with one decimal as SQLite's round(x, 1) gives it
	Ns            // int64 nanoseconds, printed as an integer of ns
	NsFloat       // float64 nanoseconds, printed with one decimal as SQLite's round(x, 1) gives it
	Us            // int64 or float64 nanoseconds, printed in µs with three decimals
	Ms            // int64 or float64 nanoseconds, printed in ms with six decimals, for people with three
	Percent1      // percent with one decimal as SQLite's round(x, 1) gives it
	Percent2      // percent with two decimals
	Ratio         // 0 to 1
	MB            // float64 of 10^6 bytes, three decimals
	MBps          // float64 of 10^6 bytes a second, three decimals
	GBps          // float64 of 10^9 bytes a second, printed in full
	Bytes         // int64 bytes
)
