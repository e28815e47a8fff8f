/**
 * Keeps uploads while their call is in flight: in a directory per process that only its user can
 * read, in it one directory per call.
 *
 * Whatever a form parser left behind after an error goes with the directory of its call. What a
 * killed process left behind goes when the next one starts.
 */

import { rmSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isProcessAlive } from '../async/is-process-alive.ts'

const prefix = 'headgate-uploads-'

let own: Promise<string> | undefined

/** Returns a fresh directory for the files of one call. */
export async function createUploadDirectory (): Promise<string> {
  own ??= createOwn()
  return await mkdtemp(join(await own, 'call-'))
}

/**
 * Deletes a directory and all in it. A parser that was stopped may just be opening one more file,
 * so it tries a few times; what remains even then goes with the process.
 */
export async function removeUploadDirectory (directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 })
}

/** Deletes the directories of processes that no longer run. */
export async function sweepUploads (): Promise<void> {
  const ownPath = await own
  const parent = tmpdir()
  const names = await readdir(parent)
  await Promise.all(names.map(async name => {
    const pid = Number(/^headgate-uploads-(\d+)-/.exec(name)?.[1])
    const path = join(parent, name)
    // A process with our own number and another directory was an earlier one, as in a container.
    if (Number.isNaN(pid) || path === ownPath || (pid !== process.pid && isProcessAlive(pid))) return
    await rm(path, { recursive: true, force: true })
  }))
}

async function createOwn (): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`))
  process.once('exit', () => rmSync(path, { recursive: true, force: true }))
  return path
}
