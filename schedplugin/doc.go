// Package schedplugin is the room of the Kubernetes scheduler plugin, which does
// not exist yet. Its arithmetic does: package predictor/score says what a
// newcomer costs each memory domain, and why.
package schedplugin
