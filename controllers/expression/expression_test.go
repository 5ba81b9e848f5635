// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var values = map[string]any{
	"link.driver": "virtio_net", "link.permanent_addr": []byte{0x52, 0x54, 0, 0, 0, 1}, "link.mtu": int64(1500), "link.up": true,
	"link.names": []string{"enp0s3"},
	"share":      12.5, "size": uint64(7), "Low": 0, "High": 4, "since": 3 * time.Second, "classes": map[int64]float64{0: 1.5, 4: 2},
	"limit": Optional(new(uint64(100))), "none": Optional(nil),
}

func TestMatches(t *testing.T) {
	for text, want := range map[string]string{
		"true":                                            "true",
		"link.mtu == 1500 && link.mtu < 1501u":            "true",
		`link.driver.startsWith("virtio")`:                "true",
		`mac(link.permanent_addr) == "52:54:00:00:00:01"`: "true",
		`glob("52:54:*", mac(link.permanent_addr))`:       "true",
		`glob("VIRTIO_?et", link.driver)`:                 "true",
		`glob("e*", link.driver)`:                         "false",
		`link.names.exists(n, n.matches("^enp.*"))`:       "true",
		`"enp0s3" in link.names && link.up`:               "true",
		`glob("[", link.driver)`:                          "error pattern",
		`link.names[7] == ""`:                             "error index",
		`link.mtu`:                                        "error the value is neither",
		`link.driver`:                                     "refused",
		`link.other == 1`:                                 "refused",
		`link.driver == 1`:                                "refused",
		`without(link.driver)`:                            "refused",
		`share > 12 && share < 13u && size < 7.5`:         "true",
		`since > duration("2s")`:                          "true",
		`since > 2`:                                       "refused",
		`share + 1 > 2`:                                   "refused",
		`share`:                                           "refused",
		`limit.hasValue() && !none.hasValue()`:            "true",
		`limit > 5u`:                                      "refused",
		`classes[High] == 2.0 && !(7 in classes)`:         "true",
		`classes[7] == 2.0`:                               "error no such key",
		`multiply_qos_vectors(classes, {High: 2.0, 9: 1.0}) == 4.0`:             "true",
		`multiply_qos_vectors(classes, classes) == 6.25`:                        "true",
		`multiply_qos_vectors(classes, {High: dyn(2)}) == 4.0`:                  "error no such overload",
		`multiply_qos_vectors(classes, {Low: dyn(1.0), High: dyn("2")}) == 4.0`: "error ",
		`multiply_qos_vectors(classes, {"High": 2.0}) == 4.0`:                   "refused",
		`link.driver ==`:                        "refused",
		strings.Repeat(" ", sizeLimit) + "true": "refused",
		strings.Repeat("(", 5000) + "true":      "refused",
		// More steps than an evaluation may take.
		`[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, ` +
			`[1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))`: "error operation cancelled",
	} {
		got := "false"

		if p, err := Compile(text, values); err != nil {
			got = "refused"
		} else if ok, err := p.Matches(values); err != nil {
			got = "error " + err.Error()
		} else if ok {
			got = "true"
		}

		if !strings.HasPrefix(got, want) {
			t.Errorf("%.100s: got %s, want %s", text, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]string{
		"share * 2.0":  "25",
		"size - 2u":    "5",
		"Low - High":   "-4",
		"link.mtu":     "1500",
		"true":         "refused",
		"link.driver":  "refused",
		"since":        "refused",
		"limit":        "refused",
		"1.0 / 0.0":    "+Inf",
		"size / 0u":    "error division by zero",
		"dyn(link.up)": "error the value is not a number",
		`{Low: 1.0, High: 0.5}[High] * double(limit.orValue(0u))`:         "50",
		`none.hasValue() ? 0.0 : double(none.orValue(3u)) / double(size)`: "0.42857142857142855",
	} {
		got := "refused"

		if p, err := CompileNumber(text, values); err == nil {
			n, err := p.Number(values)
			if got = fmt.Sprint(n); err != nil {
				got = "error " + err.Error()
			}
		}

		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`glob("52:54:*", mac(link.permanent_addr)) && link.mtu >= 1500`)
	f.Add(`link.names.map(n, size(n)).filter(s, s > 2).exists_one(s, s == 6) ? true : "a" < "b"`)
	f.Add(`multiply_qos_vectors(classes, {High: share}) > 3.0 || limit.orValue(size) / 2u > 1u && since > duration("1s")`)
	f.Add(`[1, 2u, 3.0, b"x", null, {"a": timestamp("2026-01-01T00:00:00Z") + duration("1h")}] == []`)

	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Compile(text, values); err == nil {
			p.Matches(values) // an error is an answer
		}

		if p, err := CompileNumber(text, values); err == nil {
			p.Number(values)
		}
	})
}
