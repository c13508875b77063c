package stat

import "math"

// A Plane is the best linear account, by least squares, of values by one quantity or two: y = c0 + c1·x1 + c2·x2.
type Plane struct {
	R2    float64 // share of the values' variance that it explains; 0 where they do not vary
	Sigma float64 // spread of the values around it, by the degrees of freedom
	Mean  float64 // of the values

	centre, coef []float64   // y = Mean + Σ coef·(x-centre)
	inverse      [][]float64 // of the matrix of sums of products
	n            float64
}

// FitPlane fits a plane to points, of which there are more than it has coefficients. It is nil where the quantities do
// not vary, or vary together so much that the points do not tell them apart.
func FitPlane(x [][]float64, y []float64) *Plane {
	if len(y) == 0 || len(x) != len(y) || len(y) < len(x[0])+2 {
		return nil
	}
	k := len(x[0])
	p := &Plane{n: float64(len(y)), centre: make([]float64, k), Mean: mean(y)}
	for j := range k {
		for i := range x {
			p.centre[j] += x[i][j] / p.n
		}
	}
	sums, right := make([][]float64, k), make([]float64, k)
	for j := range k {
		sums[j] = make([]float64, k)
		for i := range x {
			d := x[i][j] - p.centre[j]
			right[j] += d * (y[i] - p.Mean)
			for l := range k {
				sums[j][l] += d * (x[i][l] - p.centre[l])
			}
		}
	}
	if p.inverse = invert(sums); p.inverse == nil {
		return nil
	}
	p.coef = times(p.inverse, right)
	var all, left float64
	for i := range y {
		off := y[i] - p.At(x[i])
		all, left = all+(y[i]-p.Mean)*(y[i]-p.Mean), left+off*off
	}
	if all > 0 {
		p.R2 = max(0, 1-left/all)
	}
	p.Sigma = math.Sqrt(left / (p.n - float64(k) - 1))
	return p
}

// At is what the plane says at a point.
func (p *Plane) At(x []float64) float64 {
	y := p.Mean
	for j, c := range p.coef {
		y += c * (x[j] - p.centre[j])
	}
	return y
}

// Within is by how much one more value at a point may differ from the plane, nine times in ten: the values' own spread,
// and how well the points place the plane there.
func (p *Plane) Within(x []float64) float64 {
	d := make([]float64, len(x))
	for j := range x {
		d[j] = x[j] - p.centre[j]
	}
	reach := 1 + 1/p.n
	for j, v := range times(p.inverse, d) {
		reach += v * d[j]
	}
	return quantileT(0.95, p.n-float64(len(x))-1) * p.Sigma * math.Sqrt(max(0, reach))
}

// alike is the share of a quantity's variance below which what another does not explain of it is rounding.
const alike = 1e-6

// invert is the inverse of a symmetric matrix of one row or two; nil: it has none worth the name.
func invert(m [][]float64) [][]float64 {
	if len(m) == 1 {
		if m[0][0] <= 0 {
			return nil
		}
		return [][]float64{{1 / m[0][0]}}
	}
	a, b, d := m[0][0], m[0][1], m[1][1]
	det := a*d - b*b
	if a <= 0 || d <= 0 || !(det > alike*a*d) {
		return nil
	}
	return [][]float64{{d / det, -b / det}, {-b / det, a / det}}
}

func times(m [][]float64, v []float64) []float64 {
	out := make([]float64, len(v))
	for i := range m {
		for j := range v {
			out[i] += m[i][j] * v[j]
		}
	}
	return out
}
