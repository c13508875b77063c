package tables

import "testing"

func TestOwnTables(t *testing.T) {
	for _, table := range []*Table{&temporal, &idle, &overlap, &kernelType, &launch, &queue, &memBW, &opSum, &phases, &steps, &kernels, &cpuSum} {
		t.Run(table.Name, func(t *testing.T) { testCases(t, table) })
	}
}
