import t from 'tap'
import { runProgram } from '../../lib/async/run-program.ts'
import { withoutDescriptors } from '../support/without-descriptors.ts'

const { signal } = new AbortController()
const node = async (
  program: string,
  options: Partial<Parameters<typeof runProgram>[2]> = {}
): Promise<string> =>
  String(await runProgram(process.execPath, ['-e', program], { signal, maxBytes: 1000, ...options }))

t.test('bytes go in and come out', async t => {
  t.equal(await node('process.stdin.pipe(process.stdout)', { input: Buffer.from('ä\0b') }), 'ä\0b')
  t.equal(
    await node('process.stdout.write("x")', { input: Buffer.alloc(1_000_000) }),
    'x',
    'input that is not read does not matter'
  )
})

t.test('a program sees nothing of our environment', async t => {
  process.env['HEADGATE_TEST_SECRET'] = 'secret'
  t.teardown(() => {
    delete process.env['HEADGATE_TEST_SECRET']
  })
  t.notMatch(
    await node('process.stdout.write(JSON.stringify(process.env))', { maxBytes: 1_000_000 }),
    'SECRET'
  )
})

t.test('one that fails is reported with what it complained of; one that is not there as well', async t => {
  await t.rejects(node('console.error("no such page"); process.exit(3)'), {
    message: /ended with 3: no such page/
  })
  await t.rejects(runProgram('/nowhere/program', [], { signal, maxBytes: 1 }), {
    message: /ended with 127: .*\/nowhere\/program/s
  })
})

t.test('one that takes too much memory or time of a processor ends', async t => {
  const allocate = async (size: string, memoryKilobytes?: number): Promise<Buffer> =>
    await runProgram('/bin/dd', ['if=/dev/null', 'of=/dev/null', `bs=${size}`], {
      signal,
      maxBytes: 1000,
      ...memoryKilobytes !== undefined && { memoryKilobytes }
    })
  await allocate('1G')
  await t.rejects(allocate('3G'), { message: /ended with 1: .*memory/s })
  await t.rejects(allocate('1G', 1024 * 1024), { message: /ended with 1: .*memory/s })
  const limits = await runProgram('/bin/sh', ['-c', 'ulimit -t; ulimit -d'], { signal, maxBytes: 100 })
  t.equal(String(limits), '60\n2097152\n')
})

t.test('one that says too much is killed', async t => {
  t.equal((await node('process.stdout.write("x".repeat(1000))')).length, 1000)
  await t.rejects(node('for (;;) process.stdout.write("x".repeat(1000))'), { message: /ended with null/ })
})

t.test('a caller who leaves ends it, and one who has left starts none', async t => {
  const leaving = new AbortController()
  const running = node('setInterval(() => {}, 1000); process.stdout.write("on")', { signal: leaving.signal })
  leaving.abort(new Error('left'))
  await t.rejects(running, { message: 'left' })
  await t.rejects(runProgram('/nowhere/program', [], { signal: leaving.signal, maxBytes: 1 }), {
    message: 'left'
  })
})

t.test('one for which the system has no descriptors left is reported as that', async t => {
  t.equal(await withoutDescriptors(`
    const { runProgram } = await import(${JSON.stringify(import.meta.resolve('../../lib/async/run-program.js'))})
    const { signal } = new AbortController()
  `, "runProgram('/bin/true', [], { signal, maxBytes: 1 })"), 'EMFILE')
})
