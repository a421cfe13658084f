// Package store keeps profiles in a folder, one file each:
//
//	DIR/applications/NAME@MACHINE.yaml   one ApplicationProfile
//	DIR/machines/NAME.yaml               one MachineProfile
//
// An application measured on two machines has two profiles, so its key is its
// metadata.name and its spec.machine.name. Neither can hold an @.
//
// A file is replaced atomically: readers see the old or the new one, and a writer
// that is stopped leaves the old one whole. Writers need no lock; of two writers of
// the same profile the last one wins. Other files are left alone. A profile that
// cannot be read does not hide the others.
package store
