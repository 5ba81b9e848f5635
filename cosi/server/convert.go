// SPDX-License-Identifier: Apache-2.0

package server

import (
	"regexp"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/internal/wire"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// frameInto puts the resource into field 1 of a message.
func frameInto(m proto.Message, r resource.Resource) error {
	frame, err := resource.WireFrame(r)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}

	m.ProtoReflect().SetUnknown(frame)

	return nil
}

func resourceOf(in *v1alpha1.Resource) (resource.Resource, error) { return wire.ResourceOf(in, false) }

// queries are the selections of a list or watch.
type queries interface {
	GetLabelQuery() []*v1alpha1.LabelQuery
	GetIdQuery() *v1alpha1.IDQuery
}

func queriesOf(in queries) ([]resource.LabelQuery, *regexp.Regexp, error) {
	var labels []resource.LabelQuery

	for _, q := range in.GetLabelQuery() {
		var out resource.LabelQuery

		for _, t := range q.GetTerms() {
			term, err := termOf(t)
			if err != nil {
				return nil, nil, err
			}

			out.Terms = append(out.Terms, term)
		}

		labels = append(labels, out)
	}

	expr := in.GetIdQuery().GetRegexp()
	if expr == "" {
		return labels, nil, nil
	}

	id, err := compile(expr)
	if err != nil {
		return nil, nil, status.Errorf(codes.InvalidArgument, "id query: %v", err)
	}

	return labels, id, nil
}

func termOf(t *v1alpha1.LabelTerm) (resource.LabelTerm, error) {
	out := resource.LabelTerm{Key: t.GetKey(), Values: t.GetValue(), Invert: t.GetInvert()}

	switch op := t.GetOp(); op {
	case v1alpha1.LabelTerm_EXISTS:
		out.Op = resource.LabelExists

		return out, nil
	case v1alpha1.LabelTerm_NOT_EXISTS:
		out.Op, out.Invert = resource.LabelExists, !out.Invert

		return out, nil
	case v1alpha1.LabelTerm_IN:
		out.Op = resource.LabelIn

		return out, nil
	case v1alpha1.LabelTerm_EQUAL, v1alpha1.LabelTerm_LT, v1alpha1.LabelTerm_LTE,
		v1alpha1.LabelTerm_LT_NUMERIC, v1alpha1.LabelTerm_LTE_NUMERIC:
		out.Op = resource.LabelOp(op)
	default:
		return out, status.Errorf(codes.Unimplemented, "label query: operation %d is not known", op)
	}

	if len(out.Values) == 0 {
		return out, status.Errorf(codes.InvalidArgument, "label query: operation %s on %q needs a value", t.GetOp(), t.GetKey())
	}

	return out, nil
}
