package tables

import (
	"math"
	"slices"

	"lacuna/internal/base/stat"
	"lacuna/internal/base/unit"
)

// A description is what pandas' describe() says of a sample.
type description struct {
	Count                    int
	Mean, Std                float64 // Std of a sample (n-1); NaN below two values
	Min, Q1, Median, Q3, Max float64
}

// describe summarises values, of which there must be one at least. It sorts them.
func describe(values []float64) description {
	slices.Sort(values)
	n := len(values)
	d := description{Count: n, Min: values[0], Max: values[n-1], Std: math.NaN()}
	var sum float64
	for _, v := range values {
		sum += v
	}
	d.Mean = sum / float64(n)
	if n > 1 {
		var squares float64
		for _, v := range values {
			squares += (v - d.Mean) * (v - d.Mean)
		}
		d.Std = math.Sqrt(squares / float64(n-1))
	}
	d.Q1, d.Median, d.Q3 = stat.Quantile(values, 0.25), stat.Quantile(values, 0.5), stat.Quantile(values, 0.75)
	return d
}

// cells is the description as eight cells; the spread of a single value is absent.
func (d description) cells() []Cell {
	std := Cell{}
	if !math.IsNaN(d.Std) {
		std = Float(d.Std)
	}
	return []Cell{Int(d.Count), Float(d.Mean), std, Float(d.Min), Float(d.Q1), Float(d.Median), Float(d.Q3),
		Float(d.Max)}
}

// describedAs is the columns of a description of what.
func describedAs(what string, u unit.Unit, doc string) []Column {
	return []Column{
		{what + ".count", unit.Count, "number of samples: " + doc},
		{what + ".mean", u, "mean"},
		{what + ".std", u, "standard deviation of a sample (n-1); absent for one sample"},
		{what + ".min", u, "smallest"},
		{what + ".25%", u, "first quartile, interpolated"},
		{what + ".50%", u, "median"},
		{what + ".75%", u, "third quartile"},
		{what + ".max", u, "largest"},
	}
}
