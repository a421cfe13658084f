// Command asm writes the amd64 loops of package measure: copies, writes and
// triads with plain and with non-temporal stores, and what takes lines out of the
// caches. It is a module of its own so that Bandmate does not depend on avo. The
// Go loops in ../loops.go say what each one does.
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
	unrolled = 4
)

func main() {
	ConstraintExpr("amd64")
	for _, s := range []set{avx512, avx2} {
		for _, nonTemporal := range []bool{false, true} {
			s.copy(nonTemporal)
			s.write(nonTemporal)
			s.triad(nonTemporal)
		}
	}
	flush()
	Generate()
}

// A set says how to handle a line in the registers of an instruction set.
type set struct {
	name string
	// width is the size of a register in bytes.
	width     int
	register  func() reg.VecVirtual
	load      func(m, r Op)
	store     func(r, m Op)
	storeNT   func(r, m Op)
	broadcast func(x, r Op)
	// addProduct adds a product to a register: sum += m·factor.
	addProduct func(m, factor, sum Op)
}

var avx512 = set{
	name: "AVX512", width: 64, register: ZMM,
	load:       func(m, r Op) { VMOVUPD(m, r) },
	store:      func(r, m Op) { VMOVUPD(r, m) },
	storeNT:    func(r, m Op) { VMOVNTPD(r, m) },
	broadcast:  func(x, r Op) { VBROADCASTSD(x, r) },
	addProduct: func(m, factor, sum Op) { VFMADD231PD(m, factor, sum) },
}

var avx2 = set{
	name: "AVX2", width: 32, register: YMM,
	load:       func(m, r Op) { VMOVUPD(m, r) },
	store:      func(r, m Op) { VMOVUPD(r, m) },
	storeNT:    func(r, m Op) { VMOVNTPD(r, m) },
	broadcast:  func(x, r Op) { VBROADCASTSD(x, r) },
	addProduct: func(m, factor, sum Op) { VFMADD231PD(m, factor, sum) },
}

// loop runs a body for every register of four lines, until to ends; at returns
// the operand in a list that runs along.
func (s set) loop(to, bytes reg.Register, along []reg.Register, nonTemporal bool, body func(at func(list reg.Register) Mem)) {
	end := GP64()
	LEAQ(Mem{Base: to, Index: bytes, Scale: 1}, end)
	CMPQ(to, end)
	JEQ(LabelRef("done"))
	Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{Imm(lineBytes)}})
	Label("again")
	for offset := 0; offset < unrolled*lineBytes; offset += s.width {
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
func (s set) begin(name, parameters string, nonTemporal bool) (to, bytes reg.Register) {
	full := name + s.name
	doc := full + " is " + name + "Generic with " + s.name + "."
	if nonTemporal {
		full = name + "NT" + s.name
		doc = full + " is " + name + "Generic with " + s.name + " and non-temporal stores."
	}
	TEXT(full, NOSPLIT, "func(to"+parameters+")")
	Pragma("noescape")
	Doc(doc)
	to = Load(Param("to").Base(), GP64())
	bytes = Load(Param("to").Len(), GP64())
	SHLQ(U8(6), bytes)
	return to, bytes
}

func (s set) storer(nonTemporal bool) func(r, m Op) {
	if nonTemporal {
		return s.storeNT
	}
	return s.store
}

func list(name string) reg.Register { return Load(Param(name).Base(), GP64()) }

func (s set) copy(nonTemporal bool) {
	to, bytes := s.begin("copy", ", from [][8]float64", nonTemporal)
	from := list("from")
	s.loop(to, bytes, []reg.Register{from}, nonTemporal, func(at func(reg.Register) Mem) {
		r := s.register()
		s.load(at(from), r)
		s.storer(nonTemporal)(r, at(to))
	})
}

func (s set) write(nonTemporal bool) {
	to, bytes := s.begin("write", " [][8]float64, value float64", nonTemporal)
	value := s.register()
	s.broadcast(Load(Param("value"), XMM()), value)
	s.loop(to, bytes, nil, nonTemporal, func(at func(reg.Register) Mem) {
		s.storer(nonTemporal)(value, at(to))
	})
}

func (s set) triad(nonTemporal bool) {
	to, bytes := s.begin("triad", ", b, c [][8]float64, scale float64", nonTemporal)
	b, c := list("b"), list("c")
	scale := s.register()
	s.broadcast(Load(Param("scale"), XMM()), scale)
	s.loop(to, bytes, []reg.Register{b, c}, nonTemporal, func(at func(reg.Register) Mem) {
		r := s.register()
		s.load(at(b), r)
		s.addProduct(at(c), scale, r)
		s.storer(nonTemporal)(r, at(to))
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
