package tables

import "testing"

func TestOpRoofline(t *testing.T) { testCases(t, &opRoofline) }
