/**
 * A server of S3 as a process of its own, moto, which checks signatures with the code of Amazon's own client:
 *
 * ```sh
 * python3 -m venv /tmp/s3 && /tmp/s3/bin/pip install 'moto[s3,server]==5.2.5'
 * HEADGATE_TEST_S3=/tmp/s3/bin/python npx tap --disable-coverage build/test/exports/s3-destination.test.js
 * ```
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Secret } from '../../lib/core/secret.ts'
import { settles } from './until.ts'
import type { Test } from 'tap'

const python = process.env['HEADGATE_TEST_S3']

/** The reason why tests with an S3 server are skipped; false if they run. */
export const noS3 = python === undefined && 'HEADGATE_TEST_S3 is no Python with moto[s3,server]'

export interface S3Server {
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKey: Secret
  readonly secretKey: Secret
}

/** Starts a server with a bucket, and a key that may put objects into it. */
export async function s3Server (t: Test): Promise<S3Server> {
  const script = join(import.meta.dirname, '../../../test/support/s3-server.py')
  const child = spawn(python ?? '', [script], { stdio: ['pipe', 'pipe', 'ignore'] })
  const exit = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const [line] = (await settles(
    once(createInterface(child.stdout), 'line'),
    'the server of S3',
    30_000
  )) as [string]
  const { url, accessKey, secretKey } = JSON.parse(line) as {
    readonly url: string
    readonly accessKey: string
    readonly secretKey: string
  }
  return {
    endpoint: url,
    bucket: 'records',
    region: 'eu-north-1',
    accessKey: new Secret(accessKey),
    secretKey: new Secret(secretKey)
  }
}
