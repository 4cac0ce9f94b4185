// Store is versitygw, an S3 server that is strict about checksums and ETags, with a folder of files behind it and
// without what takes long to build.
//
// It serves the second argument at the address that is the first one, for the keys that clients have in their
// environment. It is built by 'go build -modfile=test/store/versitygw.mod -tags versitygw ./test/store'.
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
