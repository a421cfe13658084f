// Command asm writes the amd64 kernels of package kernel. It is a module of
// its own so that Bandmate does not depend on avo. The Go versions in
// ../generic.go say what each kernel does.
package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const lineBytes = 64

func main() {
	ConstraintExpr("amd64")
	for _, s := range []set{avx512, avx2} {
		stream(s)
		blend(s)
		randomBlend(s)
	}
	pause()
	Generate()
}

// A set says how to handle a line in the registers of an instruction set.
type set struct {
	name string
	// width is the size of a register in bytes.
	width    int
	register func() reg.VecVirtual
	zero     func(r Op)
	load     func(m, r Op)
	store    func(r, m Op)
	// storeNT stores a register without reading the line first; the stores
	// of a whole line follow each other, so that they leave as one write.
	storeNT func(r, m Op)
	add     func(a, b, sum Op)
}

var avx512 = set{
	name: "AVX512", width: 64, register: ZMM,
	zero:    func(r Op) { VPXORQ(r, r, r) },
	load:    func(m, r Op) { VMOVDQU64(m, r) },
	store:   func(r, m Op) { VMOVDQU64(r, m) },
	storeNT: func(r, m Op) { VMOVNTDQ(r, m) },
	add:     func(a, b, sum Op) { VPADDQ(a, b, sum) },
}

var avx2 = set{
	name: "AVX2", width: 32, register: YMM,
	zero:    func(r Op) { VPXOR(r, r, r) },
	load:    func(m, r Op) { VMOVDQU(m, r) },
	store:   func(r, m Op) { VMOVDQU(r, m) },
	storeNT: func(r, m Op) { VMOVNTDQ(r, m) },
	add:     func(a, b, sum Op) { VPADDQ(a, b, sum) },
}

// line is the content of a cache line in registers.
type line []reg.VecVirtual

func (s set) line() line {
	l := make(line, lineBytes/s.width)
	for i := range l {
		l[i] = s.register()
	}
	return l
}

func (s set) zeroLine() line {
	l := s.line()
	for _, r := range l {
		s.zero(r)
	}
	return l
}

func (s set) loadLine(m Mem) line {
	l := s.line()
	for i, r := range l {
		s.load(m.Offset(i*s.width), r)
	}
	return l
}

func (s set) storeLine(l line, m Mem) {
	for i, r := range l {
		s.store(r, m.Offset(i*s.width))
	}
}

func (s set) storeLineNT(l line, m Mem) {
	for i, r := range l {
		s.storeNT(r, m.Offset(i*s.width))
	}
}

// addTo adds l to sum.
func (s set) addTo(sum, l line) {
	for i, r := range l {
		s.add(r, sum[i], sum[i])
	}
}

// increments loads the package variable of that name.
func (s set) increments() line {
	return s.loadLine(Mem{Symbol: Symbol{Name: "·increments"}, Base: reg.StaticBase})
}

// at addresses a line behind a pointer.
func at(p reg.Register, index int) Mem { return Mem{Base: p, Disp: index * lineBytes} }

// align starts a loop on a line of the instruction cache.
func align() {
	Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{Imm(64)}})
}

func label(name string, k int) string { return name + strconv.Itoa(k) }

func pause() {
	TEXT("pause", NOSPLIT, "func(n uint32)")
	Doc("pause executes n PAUSE instructions; n > 0.")
	n := Load(Param("n"), GP32())
	Label("again")
	PAUSE()
	DECL(n)
	JNZ(LabelRef("again"))
	RET()
}
