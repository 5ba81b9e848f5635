// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
)

// Named is a value that a flag can name.
type Named[T any] struct {
	Name  string
	Value T
}

// EnumFlag adds a flag that takes the name of one of the values, and stores the value in into. The default is usual.
func EnumFlag[T any](cmd *cobra.Command, into *T, flag, shorthand, usual, usage string, values []Named[T]) {
	e := &enum[T]{flag: flag, into: into, values: values}
	if err := e.Set(usual); err != nil {
		panic(err) // the default is not one of the values: an error in the program
	}

	cmd.Flags().VarP(e, flag, shorthand, usage)
	Complete(cmd, flag, e.names()...)
}

// enum implements pflag.Value.
type enum[T any] struct {
	flag, name string
	into       *T
	values     []Named[T]
}

// String implements pflag.Value.
func (e *enum[T]) String() string { return e.name }

// Type implements pflag.Value.
func (e *enum[T]) Type() string { return "string" }

// Set implements pflag.Value.
func (e *enum[T]) Set(name string) error {
	i := slices.IndexFunc(e.values, func(v Named[T]) bool { return v.Name == name })
	if i < 0 {
		return unknownValue(fmt.Sprintf("--%s %q is unknown: want %s", e.flag, name, english.WordSeries(e.names(), "or")))
	}

	e.name, *e.into = name, e.values[i].Value

	return nil
}

func (e *enum[T]) names() []string { return Names(e.values, func(v Named[T]) string { return v.Name }) }

// unknownValue is the error for a value that is not one of an enum.
type unknownValue string

// Error implements error.
func (e unknownValue) Error() string { return string(e) }

// FlagError returns the error for flags that cannot be parsed.
func FlagError(cmd *cobra.Command, err error) error {
	if unknown := unknownValue(""); errors.As(err, &unknown) {
		err = unknown
	}

	return UsageError(cmd, "%s", err)
}
