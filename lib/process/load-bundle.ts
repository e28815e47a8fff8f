/**
 * Loads `build/start.js` with the code that V8 compiled of it for an earlier process, which takes half of the time: what
 * it compiles are the functions of a start and of its first calls. `.ci/bundle.mjs` makes the file a function.
 */

import { closeSync, fstatSync, mkdirSync, openSync, readSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { withFlagsOfStart } from './optimize-calls.ts'

/** The function that the bundle is: what a CommonJS module is given, and what takes the place of `import()` and `import.meta`. */
type Bundle = (
  exports: object, require: NodeJS.Require, module: { exports: object },
  importModule: (specifier: string) => Promise<unknown>, url: string, directory: string
) => void

/** By then a start is over, and the first calls have shown what they need. */
const keepAfterMs = 10_000

/**
 * Returns the exports of the bundle. Keeps its compiled code in `.compile-cache` beside it, ten seconds later or
 * when the process ends, if there is none that this version of Node.js can use. Without effect where that cannot be written.
 */
export function loadBundle (path: string): object {
  // The build has made sure that it is Latin-1, of which V8 keeps a byte a character.
  const source = withFile(path, bytes => bytes.toString('latin1'))
  const url = pathToFileURL(path).href
  const directory = join(dirname(path), '.compile-cache')
  // V8 itself compares its version, its flags and the length of the source; the first line has a digest of all of it.
  const file = `start-${/\w+/.exec(source)?.[0]}-${process.version}-${process.arch}`
  const script = compileWith(join(directory, file), source, url)
  if (script.cachedDataRejected !== false) keepLater(script, directory, file)
  const module = { exports: {} }
  const run = script.runInThisContext() as Bundle // made so by the build
  run(module.exports, createRequire(path), module, importOnce, url, dirname(path))
  return module.exports
}

const imported = new Map<string, Promise<unknown>>()

/** Imports a package that few calls need, which Node.js would resolve again at each of those calls: 20 µs. */
function importOnce (specifier: string): Promise<unknown> {
  const known = imported.get(specifier)
  if (known !== undefined) return known
  const importing = import(specifier) as Promise<unknown>
  imported.set(specifier, importing)
  importing.catch(() => imported.delete(specifier)) // the next call tries again
  return importing
}

function keepLater (script: Script, directory: string, file: string): void {
  let isKept = false
  const keep = (): void => {
    if (!isKept) keepCode(script, directory, file)
    isKept = true
  }
  setTimeout(keep, keepAfterMs).unref()
  process.once('exit', keep)
}

/** Puts the code in place of that of earlier builds, complete or not at all. */
function keepCode (script: Script, directory: string, file: string): void {
  try {
    mkdirSync(directory, { recursive: true })
    const written = join(directory, `${file}-${process.pid}`)
    try {
      // V8 takes compiled code only with the flags it was compiled with.
      writeFileSync(written, withFlagsOfStart(() => script.createCachedData()))
      renameSync(written, join(directory, file))
    } finally {
      rmSync(written, { force: true }) // a part of it, where the disk is full
    }
    const [build = file] = file.split('-v')
    for (const name of readdirSync(directory)) {
      if (name.startsWith('start-') && !name.startsWith(build)) rmSync(join(directory, name))
    }
  } catch {
    // A package may be installed where this user must not write: each start compiles what it needs then.
  }
}

/** Compiles the source, with the code in a file if there is one. */
function compileWith (path: string, source: string, filename: string): Script {
  try {
    return withFile(path, cachedData => new Script(source, { filename, cachedData }))
  } catch {
    return new Script(source, { filename }) // there is none, as at a first start, or it cannot be read
  }
}

// Of ES2024 what Node.js 20 has, which is not all of what the library of TypeScript declares.
declare global {
  interface ArrayBufferConstructor {
    new (byteLength: number, options: { readonly maxByteLength: number }): ArrayBuffer
  }
  interface ArrayBuffer {
    resize: (byteLength: number) => void
  }
}

/**
 * Calls the function with the bytes of a file, which are gone when it returns. Bytes in a usual buffer, 3 to 4 MB for each of the two files, would
 * stay until a full collection that an idle process does not make; and once so large a block is freed, `malloc` keeps up to twice as much for each thread.
 */
function withFile<T> (path: string, use: (bytes: Buffer) => T): T {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const memory = new ArrayBuffer(size, { maxByteLength: size })
    try {
      const bytes = Buffer.from(memory)
      for (let read = 0, more = 0; read < size; read += more) {
        more = readSync(file, bytes, { offset: read })
        if (more === 0) throw new Error(`${path} became shorter while it was read`)
      }
      return use(bytes)
    } finally {
      memory.resize(0)
    }
  } finally {
    closeSync(file)
  }
}
