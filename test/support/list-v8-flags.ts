/**
 * Imported before a program: prints each V8 flag that the program sets, and whether it had loaded HTTP by
 * then.
 */

import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'

// Not documented, but the only list there is.
const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] }
const { setFlagsFromString } = v8

v8.setFlagsFromString = flag => {
  console.error(`V8 flag ${flag} ${moduleLoadList.includes('NativeModule http') ? 'after' : 'before'} HTTP`)
  setFlagsFromString(flag)
}
syncBuiltinESMExports()
