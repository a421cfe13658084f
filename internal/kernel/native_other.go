//go:build !amd64 && !arm64

package kernel

func native() []Set { return nil }

func nativeDeclarations() []Declaration { return nil }
