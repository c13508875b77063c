package tables

import "testing"

func TestHTA(t *testing.T) {
	for _, table := range []*Table{&temporal, &idle, &overlap, &kernelType, &launch, &queue, &memBW} {
		t.Run(table.Name, func(t *testing.T) { testCases(t, table) })
	}
}

func TestOpSum(t *testing.T) { testCases(t, &opSum) }
