#include "textflag.h"

// A line is four 16-byte registers. Below a read share of 50%, DC ZVA
// establishes a line in the cache without reading it, and ordinary stores fill
// it: the line leaves the cache later, with random contents, as a write. The
// Go assembler has no STNP.

// func streamNEON(buf []byte, which *[9]uint64, eighths, owed, step uint64, sum *[8]uint64)
TEXT ·streamNEON(SB), NOSPLIT, $0-64
	MOVD buf_base+0(FP), R0
	MOVD buf_len+8(FP), R1
	MOVD which+24(FP), R2
	MOVD eighths+32(FP), R3
	MOVD owed+40(FP), R4
	MOVD step+48(FP), R5
	MOVD sum+56(FP), R6
	CBZ  R1, done
	ADD  R0, R1, R1
	ADD  R3<<3, R2, R2
	LDP  (R2), (R7, R8)       // lines to modify without and with a carry
	MOVD $·increments(SB), R9
	VLD1 (R9), [V4.D2, V5.D2, V6.D2, V7.D2]
	VLD1 (R6), [V16.D2, V17.D2, V18.D2, V19.D2]

group:
	ADDS R5, R4, R4
	CSEL CS, R8, R7, R10
	MOVD $8, R11

next:
	VLD1 (R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	VADD V0.D2, V16.D2, V16.D2
	VADD V1.D2, V17.D2, V17.D2
	VADD V2.D2, V18.D2, V18.D2
	VADD V3.D2, V19.D2, V19.D2
	TBZ  $0, R10, loaded
	VADD V4.D2, V0.D2, V0.D2
	VADD V5.D2, V1.D2, V1.D2
	VADD V6.D2, V2.D2, V2.D2
	VADD V7.D2, V3.D2, V3.D2
	VST1 [V0.D2, V1.D2, V2.D2, V3.D2], (R0)

loaded:
	LSR  $1, R10, R10
	ADD  $64, R0, R0
	SUBS $1, R11, R11
	BNE  next
	CMP  R1, R0
	BNE  group
	VST1 [V16.D2, V17.D2, V18.D2, V19.D2], (R6)

done:
	RET

// func blendNEON(change, store []byte, owed, step uint64, fill, sum *[8]uint64)
TEXT ·blendNEON(SB), NOSPLIT, $0-80
	MOVD change_base+0(FP), R0
	MOVD change_len+8(FP), R1
	MOVD store_base+24(FP), R2
	MOVD store_len+32(FP), R3
	MOVD owed+48(FP), R4
	MOVD step+56(FP), R5
	MOVD fill+64(FP), R6
	MOVD sum+72(FP), R7
	ADD  R3, R1, R1
	LSR  $6, R1, R1
	CBZ  R1, done
	MOVD $·increments(SB), R9
	VLD1 (R9), [V4.D2, V5.D2, V6.D2, V7.D2]
	VLD1 (R7), [V16.D2, V17.D2, V18.D2, V19.D2]
	VLD1 (R6), [V20.D2, V21.D2, V22.D2, V23.D2]

next:
	ADDS R5, R4, R4
	BCS  store
	VLD1 (R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	VADD V0.D2, V16.D2, V16.D2
	VADD V1.D2, V17.D2, V17.D2
	VADD V2.D2, V18.D2, V18.D2
	VADD V3.D2, V19.D2, V19.D2
	VADD V4.D2, V0.D2, V0.D2
	VADD V5.D2, V1.D2, V1.D2
	VADD V6.D2, V2.D2, V2.D2
	VADD V7.D2, V3.D2, V3.D2
	VST1 [V0.D2, V1.D2, V2.D2, V3.D2], (R0)
	ADD  $64, R0, R0
	SUBS $1, R1, R1
	BNE  next
	B    save

store:
	DC   ZVA, R2
	VST1 [V20.D2, V21.D2, V22.D2, V23.D2], (R2)
	VADD V4.D2, V20.D2, V20.D2
	VADD V5.D2, V21.D2, V21.D2
	VADD V6.D2, V22.D2, V22.D2
	VADD V7.D2, V23.D2, V23.D2
	ADD  $64, R2, R2
	SUBS $1, R1, R1
	BNE  next

save:
	VST1 [V20.D2, V21.D2, V22.D2, V23.D2], (R6)
	VST1 [V16.D2, V17.D2, V18.D2, V19.D2], (R7)

done:
	RET

// func storeLineNEON(line *byte, content *[8]uint64)
TEXT ·storeLineNEON(SB), NOSPLIT, $0-16
	MOVD line+0(FP), R0
	MOVD content+8(FP), R1
	VLD1 (R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	DC   ZVA, R0
	VST1 [V0.D2, V1.D2, V2.D2, V3.D2], (R0)
	RET

// func zeroBlock() uint64
TEXT ·zeroBlock(SB), NOSPLIT, $0-8
	MRS  DCZID_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func pause(n uint32)
TEXT ·pause(SB), NOSPLIT, $0-4
	MOVWU n+0(FP), R0

again:
	YIELD
	SUBS $1, R0, R0
	BNE  again
	RET
