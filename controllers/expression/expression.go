// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates expressions of the Common Expression Language, which select links, and decide what is ended when memory is
// short.
//
//	values := map[string]any{"link.driver": "virtio_net", "link.permanent_addr": []byte{0x52, 0x54, 0, 0, 0, 1}}
//	p, err := expression.Compile(`glob("52:54:*", mac(link.permanent_addr))`, values)
//	ok, err := p.Matches(values)
//
// Each field of an object is a variable, so that the compiler finds fields that do not exist and texts that are compared with numbers.
// Numbers may be compared with signed and unsigned ones, and with fractions. Beside the standard functions and optional values there are mac,
// which prints a hardware address, glob(pattern, text), which reports whether the text matches the pattern, without regard to case, and
// multiply_qos_vectors(a, b), which multiplies the values of each class in both maps, and adds the products. The cost of an evaluation and
// the size of an expression are limited, because process 1 does it.
package expression

import (
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// costLimit is far above what a useful expression needs, and low enough for one that is evaluated several times a second.
const costLimit = 50_000

// sizeLimit is far above the size of a useful expression, in bytes.
const sizeLimit = 16 << 10

// Program is a compiled expression.
type Program struct{ program cel.Program }

// Compile compiles an expression that is true or false, over variables with the types of these values: text, bytes, truth values, lists of
// text, numbers, durations, values of Optional, and maps from classes to numbers. A variable of type int64 takes any number.
func Compile(text string, values map[string]any) (Program, error) {
	return compile(text, values, "true or false", cel.BoolType)
}

// CompileNumber is Compile for an expression whose value is a number.
func CompileNumber(text string, values map[string]any) (Program, error) {
	return compile(text, values, "a number", cel.DoubleType, cel.IntType, cel.UintType)
}

func compile(text string, values map[string]any, want string, wanted ...*cel.Type) (Program, error) {
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

	if t := ast.OutputType(); !slices.ContainsFunc(append(wanted, cel.DynType), t.IsEquivalentType) {
		return Program{}, fmt.Errorf("expression %q: is of type %s: want %s", text, t, want)
	}

	program, err := env.Program(ast, cel.CostLimit(costLimit))
	if err != nil {
		return Program{}, fmt.Errorf("expression %q: %w", text, err)
	}

	return Program{program}, nil
}

// The errors of expressions whose value is of another type than wanted.
var (
	errNotBool   = errors.New("the value is neither true nor false")
	errNotNumber = errors.New("the value is not a number")
)

// Matches evaluates an expression that is true or false.
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

// Number evaluates an expression whose value is a number.
func (p Program) Number(values map[string]any) (float64, error) {
	value, _, err := p.program.Eval(values)
	if err != nil {
		return 0, err
	}

	switch n := value.Value().(type) {
	case float64:
		return n, nil
	case int64:
		return float64(n), nil
	case uint64:
		return float64(n), nil
	default:
		return 0, errNotNumber
	}
}

// Optional is the value of a variable that may have none: nil. An expression asks with hasValue() and orValue(0u).
func Optional(n *uint64) any {
	if n == nil {
		return types.OptionalNone
	}

	return types.OptionalOf(types.Uint(*n))
}

func typeOf(value any) *cel.Type {
	switch value.(type) {
	case int:
		return cel.IntType
	case uint64:
		return cel.UintType
	case float64:
		return cel.DoubleType
	case time.Duration:
		return cel.DurationType
	case *types.Optional:
		return cel.OptionalType(cel.UintType)
	case map[int64]float64:
		return vector
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

// vector has a number for each class.
var vector = cel.MapType(cel.IntType, cel.DoubleType)

// multiply returns the sum of the products of the values that two vectors have for a class.
func multiply(a, b ref.Val) ref.Val {
	x, ok1 := a.(traits.Mapper)
	y, ok2 := b.(traits.Mapper)

	if !ok1 || !ok2 {
		return types.MaybeNoSuchOverloadErr(a)
	}

	sum := types.Double(0)

	for it := x.Iterator(); it.HasNext() == types.True; {
		class := it.Next()

		factor, found := y.Find(class)
		if !found {
			continue
		}

		m, ok1 := x.Get(class).(types.Double)
		n, ok2 := factor.(types.Double)

		if !ok1 || !ok2 {
			return types.NewErr("class %v: the value is not a number with a fraction, such as 1.0", class)
		}

		sum += m * n
	}

	return sum
}

// functions are those beside the standard ones, and the other options of the language.
func functions() []cel.EnvOption {
	glob := func(pattern, text string) ref.Val {
		ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(text))
		if err != nil {
			return types.NewErr("pattern %q: %v", pattern, err)
		}

		return types.Bool(ok)
	}

	return []cel.EnvOption{
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true),
		cel.Function("multiply_qos_vectors", cel.Overload("multiply_qos_vectors_map_map", []*cel.Type{vector, vector}, cel.DoubleType,
			cel.BinaryBinding(multiply))),
		cel.Function("mac", cel.Overload("mac_bytes", []*cel.Type{cel.BytesType}, cel.StringType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			return types.String(net.HardwareAddr(v.(types.Bytes)).String())
		}))),
		cel.Function("glob", cel.Overload("glob_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
			cel.BinaryBinding(func(pattern, text ref.Val) ref.Val {
				return glob(string(pattern.(types.String)), string(text.(types.String)))
			}))),
	}
}
