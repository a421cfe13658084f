// Package store keeps profiles in a folder, one file each:
//
//	DIR/applications/NAME@MACHINE.yaml   one ApplicationProfile
//	DIR/machines/NAME.yaml               one MachineProfile
//
// The key of an application's profile is its metadata.name and its spec.machine.name,
// neither of which can contain an @.
//
// Programs keep what takes long to compute from these files in DIR/.kept (Kept), which
// may be deleted at any time.
//
// Files are replaced atomically and without locks: of two writers of the same profile
// the last one wins. Other files are ignored. An unreadable profile does not hide the
// others.
package store
