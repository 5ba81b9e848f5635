// SPDX-License-Identifier: Apache-2.0

// Command conformance runs Kubernetes' end-to-end tests against a cluster and prints how many passed:
//
//	go run ./test/conformance -kubeconfig out/lab/default/kubeconfig -focus '\[Conformance\]'
//
// The tests are the program e2e.test of the Kubernetes release, built by the target e2e. Without -focus a short set of
// the conformance tests runs, at least one of each kind of thing: volumes, environment, probes, DNS, services, workloads,
// an aggregated API server. The folder of -out keeps the tests' log, their JUnit report and ginkgo's own report.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed-59268b81/talos/build/artifact"
)

// short is the set that runs by default; each of its names is one test.
var short = []string{
	`ConfigMap should be consumable via the environment `,
	`ConfigMap should be consumable from pods in volume `,
	`Secrets should be consumable via the environment `,
	`Projected downwardAPI should update labels on modification `,
	`EmptyDir volumes should support \(non-root,0666,default\) `,
	`Variable Expansion should allow substituting values in a container's command `,
	`Security Context When creating a container with runAsUser should run the container with uid 65534 `,
	`Probing container should be restarted with a /healthz http liveness probe `,
	`Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart http hook properly `,
	`DNS should provide DNS for the cluster `,
	`DNS should provide DNS for services `,
	`Services should serve a basic endpoint from pods `,
	`Networking Granular Checks: Pods should function for intra-pod communication: http `,
	`Deployment RollingUpdateDeployment should delete old pods and create new ones `,
	`StatefulSet Basic StatefulSet functionality \[StatefulSetBasic\] should perform rolling updates and roll backs of template modifications `,
	`Job should delete a job `,
	`Garbage collector should delete pods created by rc when not orphaning `,
	`Aggregator Should be able to support the 1.17 Sample API Server using the current Aggregator `,
	`Kubectl client Guestbook application should create and stop a working application `,
}

// options of a run.
type options struct {
	program, kubectl, kubeconfig string
	focus, skip                  string
	out                          string
	dryRun                       bool
}

func main() {
	var o options

	// Below the working directory, which is the repository.
	built := artifact.Of(".")

	flag.StringVar(&o.program, "program", built.Component("e2e.test"), "the `program` with the tests")
	flag.StringVar(&o.kubectl, "kubectl", built.Bin("kubectl"), "kubectl, which some tests call")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the cluster")
	flag.StringVar(&o.focus, "focus", "", "run the tests whose names match this regular `expression`, in place of a short set")
	flag.StringVar(&o.skip, "skip", "", "do not run tests whose names match this regular `expression`")
	flag.StringVar(&o.out, "out", filepath.Join(built.Out, "conformance"), "`folder` for logs and reports")
	flag.BoolVar(&o.dryRun, "dry-run", false, "choose the tests but run none")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	result, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	} else {
		fmt.Println(result)
	}

	if err != nil || !result.good() {
		stop()
		os.Exit(1)
	}
}

// arguments are those of the program with the tests.
func (o options) arguments() []string {
	focus := o.focus
	if focus == "" {
		focus = `(` + strings.Join(short, "|") + `)(\[\w+\] )*\[Conformance\]`
	}

	args := []string{
		"--provider=skeleton", "--kubeconfig=" + o.kubeconfig, "--kubectl-path=" + o.kubectl,
		"--report-dir=" + o.out, "--ginkgo.json-report=" + o.reportPath(),
		"--ginkgo.no-color", "--ginkgo.silence-skips", "--ginkgo.timeout=24h", "--ginkgo.focus=" + focus,
	}

	if o.skip != "" {
		args = append(args, "--ginkgo.skip="+o.skip)
	}

	if o.dryRun {
		args = append(args, "--ginkgo.dry-run")
	}

	return args
}

func (o options) reportPath() string { return filepath.Join(o.out, "report.json") }

// absolute returns the options with absolute paths: the tests run in the folder of the results.
func (o options) absolute() (options, error) {
	var errs []error

	for _, path := range []*string{&o.program, &o.kubectl, &o.kubeconfig, &o.out} {
		full, err := filepath.Abs(*path)
		*path = full

		errs = append(errs, err)
	}

	return o, errors.Join(errs...)
}

// run runs the tests, shows their output and reads their report.
func run(ctx context.Context, o options, show io.Writer) (result, error) {
	if o.kubeconfig == "" {
		return result{}, errors.New("no cluster is named: use -kubeconfig")
	}

	o, err := o.absolute()
	if err != nil {
		return result{}, err
	}

	if _, err := os.Stat(o.kubeconfig); err != nil && !o.dryRun {
		return result{}, fmt.Errorf("no cluster: %w; start one with make up", err)
	}

	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return result{}, err
	}

	// A report of an earlier run must not be taken for this one's.
	if err := os.RemoveAll(o.reportPath()); err != nil {
		return result{}, err
	}

	log, err := os.Create(filepath.Join(o.out, "e2e.log"))
	if err != nil {
		return result{}, err
	}
	defer log.Close()

	//program:built e2e.test
	cmd := exec.CommandContext(ctx, o.program, o.arguments()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.out, io.MultiWriter(show, log), log
	// An interrupted run cleans up and writes its report.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }

	ended := cmd.Run()

	report, err := os.Open(o.reportPath())
	if err != nil {
		return result{}, fmt.Errorf("%s left no report: %w; its log is %s", filepath.Base(o.program), errors.Join(ended, err), log.Name())
	}
	defer report.Close()

	counted, err := readReport(report)

	exit := (*exec.ExitError)(nil)
	if ended != nil && !errors.As(ended, &exit) { // a test that failed is in the report
		err = errors.Join(err, ended)
	}

	return counted, err
}
