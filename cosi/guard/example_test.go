// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// A panic on another goroutine is an error for the one that waits.
func Example() {
	err := <-guard.Go(func() error {
		var addresses []string

		fmt.Println(addresses[0])

		return nil
	})

	var p *guard.Panic

	fmt.Println(errors.As(err, &p), p.Value)
	// Output: true runtime error: index out of range [0] with length 0
}

// Group waits for several, and has the first error.
func ExampleGroup() {
	var both guard.Group

	both.Go(func() error { return nil })
	both.Go(func() error { return errors.New("no listener") })

	fmt.Println(both.Wait())
	// Output: no listener
}
