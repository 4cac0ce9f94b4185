// Store is versitygw, an S3 server that is strict about checksums and ETags. It leaves out the parts of versitygw that
// take long to build.
//
//	store ADDRESS FOLDER
//
// It serves FOLDER at ADDRESS. Clients need the keys in its environment. It is built by
// 'go build -modfile=test/store/versitygw.mod -tags versitygw ./test/store'.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: store ADDRESS FOLDER")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
