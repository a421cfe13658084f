package cli

import (
	"fmt"
	"strings"

	"bandmate.dev/bandmate/predictor/communication"
)

// WriteParts shows what the slowdown of a target that communicates is made of.
func WriteParts(b *strings.Builder, p *communication.Shown) {
	if p == nil {
		return
	}
	fmt.Fprintf(b, "  by memory: %s\n", p.MemorySlowdown)
	if p.CommunicationShare == nil {
		b.WriteString("  by the network: not known\n")
		return
	}
	meanwhile := "waits meanwhile"
	if p.Overlapped {
		meanwhile = "computes meanwhile"
	}
	fmt.Fprintf(b, "  on the network for %.0f%% of its time alone, %s", 100**p.CommunicationShare, meanwhile)
	if p.CardPenalty != nil {
		fmt.Fprintf(b, "; beside the others that takes %.2f times as long", *p.CardPenalty)
	}
	if p.BusLoss != nil {
		fmt.Fprintf(b, "; the bus makes it %.2f times as long", *p.BusLoss)
	}
	fmt.Fprintf(b, "\n  together: %s\n", p.Equation)
}
