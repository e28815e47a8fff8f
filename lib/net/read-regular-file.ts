/**
 * Reads files named by a configuration or a command. Pipes and devices are refused, so that reading never
 * waits; so are files above a size limit.
 */

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/**
 * Opens a file to read it. Opening a pipe without a writer would block the thread for ever; the flag is not
 * defined on Windows.
 */
export const readWithoutWaiting = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Far above any configuration, catalogue, secret or certificate. */
const maxBytes = 16 * 1024 * 1024

/**
 * Returns the content of a regular file of at most 16 MB.
 *
 * @throws the error of the system, or one with the code `EISDIR`, `not a regular file` or `larger than 16 MB`
 */
export function readRegularFile (path: string): Buffer {
  const file = openSync(path, readWithoutWaiting)
  try {
    expectRegularFile(fstatSync(file))
    const pieces: Buffer[] = []
    let size = 0
    for (;;) {
      const piece = Buffer.allocUnsafe(64 * 1024)
      const length = readSync(file, piece)
      if (length === 0) return Buffer.concat(pieces)
      size += length
      if (size > maxBytes) throw unreadable('larger than 16 MB')
      pieces.push(piece.subarray(0, length))
    }
  } finally {
    closeSync(file)
  }
}

/** Returns the text of a file as `readRegularFile` reads it, in UTF-8. */
export function readTextFile (path: string): string {
  return readRegularFile(path).toString()
}

/** @throws an error with the code `EISDIR` or `not a regular file` */
export function expectRegularFile (stat: Stats): void {
  if (!stat.isFile()) throw unreadable(stat.isDirectory() ? 'EISDIR' : 'not a regular file')
}

function unreadable (code: string): Error {
  return Object.assign(new Error(code), { code })
}
