// SPDX-License-Identifier: Apache-2.0

// Package cosiotel traces controllers with OpenTelemetry: each round is a span. Calls that the controller makes with its
// context, over gRPC for example, are children of that span.
//
//	rt := runtime.New(st, log, runtime.WithObserver(cosiotel.Tracer(provider)))
//
// The core of the library does not depend on it.
package cosiotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
)

// scope is the name of the instrumentation.
const scope = "github.com/seed-59268b81/talos/cosi/runtime"

// Tracer returns an observer that creates a span for each round: "Name reconcile", or "Name map" for mapped inputs. The
// attributes are cosi.controller, cosi.outcome and, for a queue controller, cosi.resource. The span of a failed round has
// the error.
func Tracer(provider trace.TracerProvider) runtime.Observer {
	tracer := provider.Tracer(scope)

	return func(ctx context.Context, r runtime.Round) (context.Context, func(error)) {
		name := r.Controller + " reconcile"
		if r.Mapping {
			name = r.Controller + " map"
		}

		attributes := []attribute.KeyValue{attribute.String("cosi.controller", r.Controller)}
		if r.Resource != (resource.Pointer{}) {
			attributes = append(attributes, attribute.String("cosi.resource", r.Resource.String()))
		}

		ctx, span := tracer.Start(ctx, name, trace.WithAttributes(attributes...))

		return ctx, func(err error) {
			outcome := runtime.OutcomeOf(err)
			span.SetAttributes(attribute.String("cosi.outcome", string(outcome)))

			if outcome == runtime.Failed {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}

			span.End()
		}
	}
}
