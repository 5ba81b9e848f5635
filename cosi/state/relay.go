// SPDX-License-Identifier: Apache-2.0

package state

import "context"

// Relay starts a watch and sends its events to another channel, until the context ends. each converts an event, and reports
// whether it is the last one.
func Relay[T, U any](ctx context.Context, out chan<- U, each func(T) (next U, last bool), watch func(context.Context, chan<- T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	in := make(chan T, 1)

	if err := watch(ctx, in); err != nil {
		cancel()

		return err
	}

	go func() {
		defer cancel()

		for {
			var came T

			select {
			case <-ctx.Done():
				return
			case came = <-in:
			}

			next, last := each(came)

			select {
			case <-ctx.Done():
				return
			case out <- next:
			}

			if last {
				return
			}
		}
	}()

	return nil
}
