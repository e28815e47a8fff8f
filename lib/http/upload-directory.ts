/**
 * Keeps uploads while their call is in flight: in a directory per process that only its user can read, with
 * one directory per call.
 *
 * Files that a form parser leaves behind after an error are deleted with the directory of the call. Those of
 * a killed process are deleted when the next process starts.
 */

import { rmSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isProcessAlive } from '../async/is-process-alive.ts'

const prefix = 'headgate-uploads-'

let own: Promise<string> | undefined

/** Returns a new directory for the files of one call. */
export async function createUploadDirectory (): Promise<string> {
  own ??= createOwn()
  return await mkdtemp(join(await own, 'call-'))
}

/**
 * Deletes a directory and its contents. A stopped parser may just be opening one more file, so this retries a
 * few times; anything left even then is deleted with the process.
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
    // A process with our own id but another directory was an earlier one, as in a restarted container.
    if (Number.isNaN(pid) || path === ownPath || (pid !== process.pid && isProcessAlive(pid))) return
    await rm(path, { recursive: true, force: true })
  }))
}

async function createOwn (): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`))
  process.once('exit', () => rmSync(path, { recursive: true, force: true }))
  return path
}
