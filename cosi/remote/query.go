// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"regexp"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
)

func labelQueries(queries []resource.LabelQuery) []*v1alpha1.LabelQuery {
	out := make([]*v1alpha1.LabelQuery, 0, len(queries))

	for _, q := range queries {
		terms := make([]*v1alpha1.LabelTerm, 0, len(q.Terms))

		for _, t := range q.Terms {
			terms = append(terms, &v1alpha1.LabelTerm{
				Key: t.Key, Value: t.Values, Invert: t.Invert, Op: v1alpha1.LabelTerm_Operation(t.Op),
			})
		}

		out = append(out, &v1alpha1.LabelQuery{Terms: terms})
	}

	return out
}

func idQuery(re *regexp.Regexp) *v1alpha1.IDQuery {
	if re == nil {
		return nil
	}

	return &v1alpha1.IDQuery{Regexp: re.String()}
}
