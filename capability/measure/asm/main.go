// Command asm writes the amd64 loops of package measure: copies, writes and triads with
// plain and with non-temporal stores, and flushes of cache lines. It is a module of its
// own so that Bandmate does not depend on avo. The Go loops in ../loops.go say what
// each one does.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	lineBytes = 64
	// unrolled lines are handled in one pass of a loop; lists are multiples.
	unrolled = 2
	// width is the size of a register in bytes.
	width = 32
)

// The loops use AVX2 and FMA. They wait for memory, not for wider registers.
func main() {
	ConstraintExpr("amd64")
	for _, nonTemporal := range []bool{false, true} {
		store := func(r, m Op) { VMOVUPD(r, m) }
		if nonTemporal {
			store = func(r, m Op) { VMOVNTPD(r, m) }
		}
		copyLines(nonTemporal, store)
		write(nonTemporal, store)
		triad(nonTemporal, store)
	}
	flush()
	Generate()
}

// loop runs a body for every register of four lines, until to ends; at returns
// the operand in a list that runs along.
func loop(to, bytes reg.Register, along []reg.Register, nonTemporal bool, body func(at func(list reg.Register) Mem)) {
	end := GP64()
	LEAQ(Mem{Base: to, Index: bytes, Scale: 1}, end)
	CMPQ(to, end)
	JEQ(LabelRef("done"))
	Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{Imm(lineBytes)}})
	Label("again")
	for offset := 0; offset < unrolled*lineBytes; offset += width {
		body(func(list reg.Register) Mem { return Mem{Base: list, Disp: offset} })
	}
	for _, list := range append(along, to) {
		ADDQ(U32(unrolled*lineBytes), list)
	}
	CMPQ(to, end)
	JNE(LabelRef("again"))
	Label("done")
	if nonTemporal {
		SFENCE()
	}
	VZEROUPPER()
	RET()
}

// begin declares a function over lists and returns the first one's base and size
// in bytes.
func begin(name, parameters string, nonTemporal bool) (to, bytes reg.Register) {
	full := name + "AVX2"
	doc := full + " is " + name + "Generic with AVX2."
	if nonTemporal {
		full = name + "NTAVX2"
		doc = full + " is " + name + "Generic with AVX2 and non-temporal stores."
	}
	TEXT(full, NOSPLIT, "func(to"+parameters+")")
	Pragma("noescape")
	Doc(doc)
	to = Load(Param("to").Base(), GP64())
	bytes = Load(Param("to").Len(), GP64())
	SHLQ(U8(6), bytes)
	return to, bytes
}

func list(name string) reg.Register { return Load(Param(name).Base(), GP64()) }

func broadcast(parameter string) reg.VecVirtual {
	r := YMM()
	VBROADCASTSD(Load(Param(parameter), XMM()), r)
	return r
}

func copyLines(nonTemporal bool, store func(r, m Op)) {
	to, bytes := begin("copy", ", from [][8]float64", nonTemporal)
	from := list("from")
	loop(to, bytes, []reg.Register{from}, nonTemporal, func(at func(reg.Register) Mem) {
		r := YMM()
		VMOVUPD(at(from), r)
		store(r, at(to))
	})
}

func write(nonTemporal bool, store func(r, m Op)) {
	to, bytes := begin("write", " [][8]float64, value float64", nonTemporal)
	value := broadcast("value")
	loop(to, bytes, nil, nonTemporal, func(at func(reg.Register) Mem) { store(value, at(to)) })
}

func triad(nonTemporal bool, store func(r, m Op)) {
	to, bytes := begin("triad", ", b, c [][8]float64, scale float64", nonTemporal)
	b, c := list("b"), list("c")
	scale := broadcast("scale")
	loop(to, bytes, []reg.Register{b, c}, nonTemporal, func(at func(reg.Register) Mem) {
		r := YMM()
		VMOVUPD(at(b), r)
		VFMADD231PD(at(c), scale, r)
		store(r, at(to))
	})
}

func flush() {
	TEXT("flushLines", NOSPLIT, "func(lines [][8]float64)")
	Pragma("noescape")
	Doc("flushLines takes lines out of every cache of the machine, written back where they were modified.")
	p := Load(Param("lines").Base(), GP64())
	count := Load(Param("lines").Len(), GP64())
	MFENCE()
	TESTQ(count, count)
	JE(LabelRef("done"))
	Label("again")
	CLFLUSH(Mem{Base: p})
	ADDQ(U8(lineBytes), p)
	DECQ(count)
	JNE(LabelRef("again"))
	Label("done")
	MFENCE()
	RET()
}
