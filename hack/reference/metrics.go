package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// metric is one Prometheus metric.
type metric struct {
	name, kind, help string
	labels           []string
}

// metricTable returns the metrics that metrics.go in a folder makes: calls of
// NewCounterVec and the like with the name and the help as literals, and the
// labels behind them. A metric that it cannot read is an error, so that none is
// left out.
func metricTable(folder string) (string, error) {
	path := filepath.Join(folder, "metrics.go")
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var metrics []metric
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || err != nil {
			return err == nil
		}
		kind := constructed(call)
		if kind == "" {
			return true
		}
		m := metric{kind: kind}
		for i, argument := range call.Args {
			texts := literals(argument)
			if i == 0 && len(texts) >= 2 {
				m.name, m.help = texts[0], texts[1]
			} else if i > 0 {
				m.labels = append(m.labels, texts...)
			}
		}
		if m.name == "" || m.help == "" {
			err = fmt.Errorf("%s: a metric without name and help as literals", set.Position(call.Pos()))
		}
		if !strings.HasPrefix(m.name, "bandmate_") {
			m.name = "bandmate_" + m.name // the subsystem
		}
		metrics = append(metrics, m)
		return false
	})
	if err != nil {
		return "", err
	}
	if len(metrics) == 0 {
		return "", fmt.Errorf("%s: no metrics found", path)
	}
	slices.SortFunc(metrics, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	b.WriteString("| metric | type | labels | |\n|---|---|---|---|\n")
	for _, m := range metrics {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, m.help)
	}
	return b.String(), nil
}

// constructed is the type of metric that a call makes, or empty.
func constructed(call *ast.CallExpr) string {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	kind, ok := strings.CutPrefix(function.Sel.Name, "New")
	if !ok {
		return ""
	}
	kind = strings.ToLower(strings.TrimSuffix(kind, "Vec"))
	if !slices.Contains([]string{"counter", "gauge", "histogram", "summary"}, kind) {
		return ""
	}
	return kind
}

// literals are the strings within an expression, in order.
func literals(e ast.Expr) []string {
	var found []string
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}
