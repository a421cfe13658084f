package cli

import (
	"fmt"

	"bandmate.dev/bandmate/report"
)

func CountCell(n int) report.Cell { return report.Number(fmt.Sprint(n), float64(n)) }
