package interferer
func runHelper() bool { return false }
