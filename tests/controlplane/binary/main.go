// Command controlplane is every Go program the test beds run but Helm 3, whose commands nobody can import,
// linked once: one link and one copy of client-go instead of nine. The base name it is called by (a symlink)
// picks the program. kubelet, kube-proxy and coredns are those of a node (tests/node).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	helm "helm.sh/helm/v4/pkg/cmd"
	helmkube "helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// daemons are the programs that differ only in the cobra command that starts them.
var daemons = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kube-proxy":              newProxyCommand,
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

// newProxyCommand keeps from kube-proxy, which takes the flags of the whole program for its own, those CoreDNS adds.
func newProxyCommand() *cobra.Command {
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	return proxy.NewProxyCommand()
}

// runCoreDNS answers names of the cluster from the API server, and no others.
func runCoreDNS() {
	// Only what is linked here; the order is that of a query's way through them.
	dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes"}
	coremain.Run()
}

func runHelm() int {
	// Helm derives its field manager from the program's name; a symlink must not change it.
	helmkube.ManagedFieldsManager = "helm"
	root, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err == nil {
		err = root.Execute()
	}
	if err != nil {
		return 1
	}
	return 0
}

func main() {
	name := filepath.Base(os.Args[0])
	switch name {
	case "coredns":
		runCoreDNS()
	case "etcd":
		etcdmain.Main(os.Args)
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	case "helm":
		os.Exit(runHelm())
	default:
		daemon, known := daemons[name]
		if !known {
			fmt.Fprintf(os.Stderr, "%s: call me by the name of a program I hold\n", name)
			os.Exit(2)
		}
		os.Exit(cli.Run(daemon()))
	}
}
