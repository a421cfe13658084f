package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// groupLines is the number of lines between two decisions of the diffusion:
// deciding line by line costs up to 4% of the bandwidth in branches that the
// processor predicts wrongly whenever a call begins.
const groupLines = 8

// stream writes one pair of loops for every number k of eighths: a group has
// k or, where the diffusion carries, k+1 lines that are modified.
func stream(s set) {
	TEXT("stream"+s.name, NOSPLIT, "func(buf []byte, eighths, owed, step uint64, sum *[8]uint64)")
	Pragma("noescape")
	Doc("stream" + s.name + " is streamGeneric with " + s.name + ".")
	p := Load(Param("buf").Base(), GP64())
	end := Load(Param("buf").Len(), GP64())
	eighths := Load(Param("eighths"), GP64())
	owed := Load(Param("owed"), GP64())
	step := Load(Param("step"), GP64())
	result := Load(Param("sum"), GP64())

	ADDQ(p, end)
	constants := s.increments()
	// Beginning with zeros, not with result, keeps the loop from waiting for
	// the loads of the call before.
	sums := [4]line{s.zeroLine(), s.zeroLine(), s.zeroLine(), s.zeroLine()}
	group := func(k int) {
		for i := range groupLines {
			l := s.loadLine(at(p, i))
			s.addTo(sums[i%len(sums)], l)
			if modified(k, i) {
				s.addTo(l, constants)
				s.storeLine(l, at(p, i))
			}
		}
		ADDQ(U32(groupLines*lineBytes), p)
		CMPQ(p, end)
	}
	body := func(k int) {
		group(k)
		JEQ(LabelRef("done"))
		ADDQ(step, owed)
	}

	CMPQ(p, end)
	JEQ(LabelRef("done"))

	// Nothing to decide: every line is read only, or every line is modified.
	// step is 0, or 2⁶⁴−1 so that owed carries on and on.
	pure := func(name string, k int) {
		align()
		Label(name)
		group(k)
		JNE(LabelRef(name))
		JMP(LabelRef("done"))
	}
	TESTQ(step, step)
	JNE(LabelRef("notRead"))
	TESTQ(eighths, eighths)
	JNE(LabelRef("decide"))
	pure("read", 0)
	Label("notRead")
	CMPQ(step, I8(-1))
	JNE(LabelRef("decide"))
	CMPQ(eighths, U8(groupLines-1))
	JNE(LabelRef("decide"))
	pure("modify", groupLines)

	Label("decide")
	for k := range groupLines - 1 {
		CMPQ(eighths, U8(k))
		JEQ(LabelRef(label("enter", k)))
	}
	for k := groupLines - 1; k >= 0; k-- {
		Label(label("enter", k))
		ADDQ(step, owed)
		JCS(LabelRef(label("more", k)))
		align()
		Label(label("less", k))
		body(k)
		JCC(LabelRef(label("less", k)))
		align()
		Label(label("more", k))
		body(k + 1)
		JCS(LabelRef(label("more", k)))
		JMP(LabelRef(label("less", k)))
	}

	Label("done")
	s.addTo(sums[0], sums[1])
	s.addTo(sums[2], sums[3])
	s.addTo(sums[0], sums[2])
	s.addTo(sums[0], s.loadLine(Mem{Base: result}))
	s.storeLine(sums[0], Mem{Base: result})
	VZEROUPPER()
	RET()
}

// modified reports whether line i of a group is modified when k of them are; it is
// modifiedLines of ../generic.go.
func modified(k, i int) bool {
	marks := func(lines int) int { return (2*lines*k + groupLines) / (2 * groupLines) }
	return marks(i+1) > marks(i)
}

// blend takes the next line of one of two streams.
func blend(s set) {
	TEXT("blend"+s.name, NOSPLIT, "func(change, store []byte, owed, step uint64, fill, sum *[8]uint64)")
	Pragma("noescape")
	Doc("blend" + s.name + " is blendGeneric with " + s.name + ".")
	change := Load(Param("change").Base(), GP64())
	lines := Load(Param("change").Len(), GP64())
	store := Load(Param("store").Base(), GP64())
	more := Load(Param("store").Len(), GP64())
	owed := Load(Param("owed"), GP64())
	step := Load(Param("step"), GP64())
	content := Load(Param("fill"), GP64())
	result := Load(Param("sum"), GP64())

	ADDQ(more, lines)
	SHRQ(Imm(6), lines)
	JEQ(LabelRef("nothing"))
	constants := s.increments()
	fill := s.loadLine(Mem{Base: content})
	sum := s.loadLine(Mem{Base: result})

	align()
	Label("next")
	ADDQ(step, owed)
	JCS(LabelRef("store"))
	l := s.loadLine(Mem{Base: change})
	s.addTo(sum, l)
	s.addTo(l, constants)
	s.storeLine(l, Mem{Base: change})
	ADDQ(U8(lineBytes), change)
	DECQ(lines)
	JNE(LabelRef("next"))
	JMP(LabelRef("done"))

	align()
	Label("store")
	s.storeLineNT(fill, Mem{Base: store})
	s.addTo(fill, constants)
	ADDQ(U8(lineBytes), store)
	DECQ(lines)
	JNE(LabelRef("next"))

	Label("done")
	s.storeLine(fill, Mem{Base: content})
	s.storeLine(sum, Mem{Base: result})
	VZEROUPPER()
	Label("nothing")
	RET()
}

// randomBlend is scalar but for the non-temporal store.
func randomBlend(s set) {
	TEXT("randomBlend"+s.name, NOSPLIT,
		"func(buf []byte, chains *[16]uint64, next, inFlight, lines, owed, step uint64, fill *[8]uint64)")
	Pragma("noescape")
	Doc("randomBlend" + s.name + " is randomBlendGeneric with " + s.name + ".")
	buf := Load(Param("buf").Base(), GP64())
	size := Load(Param("buf").Len(), GP64())
	chains := Load(Param("chains"), GP64())
	next := Load(Param("next"), GP64())
	inFlight := Load(Param("inFlight"), GP64())
	lines := Load(Param("lines"), GP64())
	owed := Load(Param("owed"), GP64())
	content := Load(Param("fill"), GP64())

	TESTQ(lines, lines)
	JEQ(LabelRef("nothing"))
	SHRQ(Imm(6), size)
	constants := s.increments()
	fill := s.loadLine(Mem{Base: content})
	increment := GP64()
	MOVQ(Mem{Symbol: Symbol{Name: "·increments"}, Base: reg.StaticBase}, increment)
	factor := GP64()
	MOVQ(U64(6364136223846793005), factor)
	step, err := Param("step").Resolve()
	if err != nil {
		panic(err)
	}

	Label("next")
	x := GP64()
	MOVQ(Mem{Base: chains, Index: next, Scale: 8}, x)
	MOVQ(x, reg.RAX)
	MULQ(size)
	SHLQ(Imm(6), reg.RDX)
	ADDQ(buf, reg.RDX)
	ADDQ(step.Addr, owed)
	JCS(LabelRef("store"))
	v := GP64()
	MOVQ(Mem{Base: reg.RDX}, v)
	XORQ(v, x)
	ADDQ(increment, v)
	MOVQ(v, Mem{Base: reg.RDX})
	JMP(LabelRef("advance"))
	Label("store")
	s.storeLineNT(fill, Mem{Base: reg.RDX})
	s.addTo(fill, constants)
	Label("advance")
	IMULQ(factor, x)
	MOVQ(U64(1442695040888963407), reg.RAX)
	ADDQ(reg.RAX, x)
	MOVQ(x, Mem{Base: chains, Index: next, Scale: 8})
	INCQ(next)
	CMPQ(next, inFlight)
	JNE(LabelRef("turn"))
	XORL(next.(reg.GPVirtual).As32(), next.(reg.GPVirtual).As32())
	Label("turn")
	DECQ(lines)
	JNE(LabelRef("next"))

	s.storeLine(fill, Mem{Base: content})
	VZEROUPPER()
	Label("nothing")
	RET()
}
