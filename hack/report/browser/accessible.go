package main

import _ "embed"

// accessible returns what a check like axe's finds wrong with the page.
//
//go:embed accessible.js
var accessible string
