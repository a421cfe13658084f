// Package store keeps profiles in a folder, one file each:
//
//	DIR/applications/NAME@MACHINE.yaml   one ApplicationProfile
//	DIR/machines/NAME.yaml               one MachineProfile
//
// An application measured on two machines has two profiles, so its key is its
// metadata.name and its spec.machine.name. Neither can hold an @.
//
// A file is replaced in one step: readers see the old or the new one, and
// whatever stops a writer leaves the old one whole. Writers need no lock; of
// two writers of the same profile the last one stays. Files of other names are
// nobody's concern here and are left alone; a file of ours that cannot be read
// hides none of the others.
package store
