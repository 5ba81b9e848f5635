// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates expressions of the Common Expression Language, which select links.
//
//	values := map[string]any{"link.driver": "virtio_net", "link.permanent_addr": []byte{0x52, 0x54, 0, 0, 0, 1}}
//	p, err := expression.Compile(`glob("52:54:*", mac(link.permanent_addr))`, values)
//	ok, err := p.Matches(values)
//
// Each field of an object is a variable, so that the compiler finds fields that do not exist and texts that are compared with numbers.
// Numbers may be compared with signed and unsigned ones. Beside the standard functions there are mac, which prints a hardware address, and
// glob(pattern, text), which reports whether the text matches the pattern, without regard to case. The cost of an evaluation and the size of
// an expression are limited, because process 1 does it.
package expression

import (
	"errors"
	"fmt"
	"net"
	"path"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// costLimit is far above what a useful expression needs.
const costLimit = 1_000_000

// sizeLimit is far above the size of a useful expression, in bytes.
const sizeLimit = 16 << 10

// Program is a compiled expression.
type Program struct{ program cel.Program }

// Compile compiles an expression over variables with the types of these values: text, bytes, truth values, lists of text and numbers.
func Compile(text string, values map[string]any) (Program, error) {
	if len(text) > sizeLimit {
		return Program{}, fmt.Errorf("expression of %d bytes: at most %d are allowed", len(text), sizeLimit)
	}

	options := functions()
	for name, value := range values {
		options = append(options, cel.Variable(name, typeOf(value)))
	}

	env, err := cel.NewEnv(options...)
	if err != nil {
		return Program{}, fmt.Errorf("CEL: %w", err)
	}

	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return Program{}, fmt.Errorf("expression %q: %w", text, issues.Err())
	}

	if t := ast.OutputType(); !t.IsEquivalentType(cel.BoolType) && !t.IsEquivalentType(cel.DynType) {
		return Program{}, fmt.Errorf("expression %q: is of type %s: want true or false", text, t)
	}

	program, err := env.Program(ast, cel.CostLimit(costLimit))
	if err != nil {
		return Program{}, fmt.Errorf("expression %q: %w", text, err)
	}

	return Program{program}, nil
}

// errNotBool is the error of an expression whose value is neither true nor false.
var errNotBool = errors.New("the value is neither true nor false")

// Matches evaluates the expression.
func (p Program) Matches(values map[string]any) (bool, error) {
	value, _, err := p.program.Eval(values)
	if err != nil {
		return false, err
	}

	match, ok := value.Value().(bool)
	if !ok {
		return false, errNotBool
	}

	return match, nil
}

func typeOf(value any) *cel.Type {
	switch value.(type) {
	case string:
		return cel.StringType
	case []byte:
		return cel.BytesType
	case bool:
		return cel.BoolType
	case []string:
		return cel.ListType(cel.StringType)
	default:
		return cel.DynType
	}
}

// functions are those beside the standard ones.
func functions() []cel.EnvOption {
	glob := func(pattern, text string) ref.Val {
		ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(text))
		if err != nil {
			return types.NewErr("pattern %q: %v", pattern, err)
		}

		return types.Bool(ok)
	}

	return []cel.EnvOption{
		cel.Function("mac", cel.Overload("mac_bytes", []*cel.Type{cel.BytesType}, cel.StringType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			return types.String(net.HardwareAddr(v.(types.Bytes)).String())
		}))),
		cel.Function("glob", cel.Overload("glob_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(pattern, text ref.Val) ref.Val {
				return glob(string(pattern.(types.String)), string(text.(types.String)))
			}))),
	}
}
