import { hash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { s3Destination } from '../../lib/exports/s3-destination.ts'
import { signAws } from '../../lib/wire/sign-aws.ts'
import { openBucket, type Bucket } from '../support/bucket.ts'
import { noS3, s3Server } from '../support/s3-server.ts'
import type { Destination } from '../../lib/exports/destination.ts'
import type { Test } from 'tap'

const partBytes = 100_000
const never = new AbortController().signal

function destinationIn (
  t: Test,
  { s3 }: Pick<Bucket, 's3'>,
  parts: { readonly secretKey?: Secret, readonly requestMs?: number } = {}
): Destination {
  const { requestMs = 5000, ...more } = parts
  const destination = s3Destination({ ...s3, ...more }, { workFolder: t.testdirName, requestMs, partBytes })
  t.teardown(async () => await destination.close())
  return destination
}

function fileOf (t: Test, bytes: Buffer): string {
  const file = join(t.testdir(), 'file')
  writeFileSync(file, bytes)
  return file
}

void t.test('a file becomes one object, signed, with its length and type', async t => {
  const bucket = await openBucket(t)
  const destination = destinationIn(t, bucket)
  t.equal(destination.location, `${bucket.url}/records/usage/year=2026/`)
  const bytes = randomBytes(partBytes)
  await destination.publish(fileOf(t, bytes), 'usage-1.csv.gz', never)
  t.strictSame([...bucket.objects], [['/records/usage/year%3D2026/usage-1.csv.gz', bytes]])
  t.match(bucket.requests, [
    { method: 'PUT', headers: { 'content-length': String(partBytes), 'content-type': 'application/gzip' } }
  ])
  await destination.publish(fileOf(t, Buffer.alloc(0)), 'usage-1.csv.gz', never)
  t.strictSame(
    [...bucket.objects.values()],
    [Buffer.alloc(0)],
    'the same name replaces it, also with an empty file'
  )
})

void t.test('a large file is uploaded in parts, and becomes one object at the end', async t => {
  const bucket = await openBucket(t)
  const destination = destinationIn(t, bucket)
  const bytes = randomBytes(2 * partBytes + 1)
  await destination.publish(fileOf(t, bytes), 'long.jsonl', never)
  t.strictSame([...bucket.objects], [['/records/usage/year%3D2026/long.jsonl', bytes]])
  t.strictSame(bucket.requests.map(({ method, bytes }) => [method, bytes]).slice(0, -1), [
    ['POST', 0],
    ['PUT', partBytes],
    ['PUT', partBytes],
    ['PUT', 1]
  ])
  t.equal(bucket.requests[0]?.headers['content-type'], 'application/jsonl')
  t.equal(bucket.uploads.size, 0)
})

void t.test(
  "a failed upload leaves nothing behind, and the error has the bucket's code but no secret",
  async t => {
    const bucket = await openBucket(t, (_request, number) => (number === 2 ? [503, 'SlowDown'] : undefined))
    const bytes = randomBytes(3 * partBytes)
    await t.rejects(destinationIn(t, bucket).publish(fileOf(t, bytes), 'a.csv', never), {
      message: 'the bucket answered with status 503 (SlowDown)'
    })
    t.same([bucket.objects.size, bucket.uploads.size], [0, 0])
    t.equal(bucket.requests.at(-1)?.method, 'DELETE')
  }
)

void t.test('an upload that fails after status 200 is a failure', async t => {
  const bucket = await openBucket(t, ({ method, query }) =>
    method === 'POST' && query.has('uploadId') ? [200, 'InternalError'] : undefined
  )
  await t.rejects(destinationIn(t, bucket).publish(fileOf(t, randomBytes(2 * partBytes)), 'a.csv', never), {
    message: 'the bucket answered with status 200 (InternalError)'
  })
  t.equal(bucket.uploads.size, 0)
})

void t.test('a wrong key is refused', async t => {
  const bucket = await openBucket(t)
  const destination = destinationIn(t, bucket, { secretKey: new Secret('another') })
  const refused = { message: 'the bucket answered with status 403 (SignatureDoesNotMatch)' }
  await t.rejects(destination.publish(fileOf(t, Buffer.from('text')), 'a.csv', never), refused)
  await t.rejects(destination.check(never), refused)
  t.equal(bucket.objects.size, 0)
})

void t.test('a bucket is checked without a file, also by a key that may not list it', async t => {
  const bucket = await openBucket(
    t,
    (_request, number) =>
      [undefined, [403, 'AccessDenied'], [404, 'NoSuchBucket']][number] as
        readonly [number, string] | undefined
  )
  const destination = destinationIn(t, bucket)
  await destination.check(never)
  await destination.check(never)
  await t.rejects(destination.check(never), { message: 'the bucket answered with status 404 (NoSuchBucket)' })
  t.match(bucket.requests, [{ method: 'GET', path: '/records' }, {}, {}])
})

void t.test('a bucket that does not respond fails by timeout, and can be aborted', async t => {
  const bucket = await openBucket(t, () => 'stall')
  const file = fileOf(t, Buffer.from('text'))
  await t.rejects(destinationIn(t, bucket, { requestMs: 50 }).publish(file, 'a.csv', never), {
    code: 'upstream_timeout'
  })
  const stop = new AbortController()
  const publishing = destinationIn(t, bucket).publish(file, 'a.csv', stop.signal)
  stop.abort(new Error('stopped'))
  await t.rejects(publishing, { message: 'stopped' })
})

void t.test(
  'an S3 server accepts files in one piece and in parts, and refuses a wrong key',
  { skip: noS3 },
  async t => {
    const { endpoint, bucket, ...key } = await s3Server(t)
    const s3 = { endpoint, bucket, prefix: 'usage/year=2026/', ...key }
    const smallestPart = 5 * 1024 * 1024
    const destination = s3Destination(s3, { workFolder: '', requestMs: 30_000, partBytes: smallestPart })
    t.teardown(async () => await destination.close())
    await destination.check(never)
    for (const size of [0, 1000, 2 * smallestPart + 1]) {
      const bytes = randomBytes(size)
      await destination.publish(fileOf(t, bytes), 'a.csv', never)
      const request = {
        method: 'GET',
        host: new URL(endpoint).host,
        path: '/records/usage/year%3D2026/a.csv',
        bodyDigest: hash('sha256', '')
      }
      const answer = await fetch(endpoint + request.path, { headers: signAws(request, key, Date.now()) })
      t.equal(answer.status, 200)
      t.equal(answer.headers.get('content-type'), 'text/csv')
      t.ok(bytes.equals(Buffer.from(await answer.arrayBuffer())), `the ${size} bytes that were sent`)
    }
    const stranger = s3Destination(
      { ...s3, secretKey: new Secret('another') },
      { workFolder: '', requestMs: 30_000 }
    )
    t.teardown(async () => await stranger.close())
    await t.rejects(stranger.publish(fileOf(t, Buffer.from('x')), 'b.csv', never), {
      message: 'the bucket answered with status 403 (SignatureDoesNotMatch)'
    })
    await t.rejects(stranger.check(never), {
      message: 'the bucket answered with status 403 (SignatureDoesNotMatch)'
    })
  }
)
