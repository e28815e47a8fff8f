import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const loader = new URL('../../lib/process/load-bundle.js', import.meta.url)
const [early, flags, collections, setFlag] = ['v8-flags', 'optimize-calls', 'old-generation', 'set-v8-flag'].map(name => new URL(`../../lib/process/${name}.js`, import.meta.url).href)

const body = `exports.answer = async () => ({ platform: (await importModule('node:os')).platform(), separator: require('node:path').sep, url: bundleUrl, directory: bundleDirectory })`

/** Writes a bundle as the build does, and returns its path. */
function bundleIn (directory: string, digest = 'a1b2', code = body): string {
  const path = join(directory, 'start.js')
  writeFileSync(path, `/* ${digest} */(function (exports, require, module, importModule, bundleUrl, bundleDirectory) {'use strict';${code}})\n`)
  return path
}

/** Loads it in a process that ends by itself, and returns what its function answers there. */
function answerOf (path: string): unknown {
  const program = `
    import '${early}'
    import { loadBundle } from '${loader.href}'
    import { optimizeCalls } from '${flags}'
    import { collectAfterStart } from '${collections}'
    import { setV8Flag } from '${setFlag}?bundle' // the bundle has a copy of its own
    collectAfterStart()
    const { answer } = loadBundle(${JSON.stringify(path)})
    optimizeCalls()
    // As they may be once calls came.
    setV8Flag('--heap-growing-percent=200')
    setV8Flag('--semi-space-growth-factor=1')
    setV8Flag('--incremental-marking')
    console.log(JSON.stringify(await answer()))`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }))
}

const cacheIn = (directory: string): string[] => readdirSync(join(directory, '.compile-cache'))
const inodeOf = (directory: string): number => statSync(join(directory, '.compile-cache', cacheIn(directory)[0] ?? '')).ino

t.test('the bundle has what a module has, also when its code was compiled before', async t => {
  const directory = t.testdir()
  const path = bundleIn(directory)
  const expected = { platform: process.platform, separator: '/', url: `file://${path}`, directory }
  t.same(answerOf(path), expected)
  t.same(cacheIn(directory), [`start-a1b2-${process.version}-${process.arch}`])
  const inode = inodeOf(directory)
  t.same(answerOf(path), expected)
  t.equal(inodeOf(directory), inode, 'V8 took the code, so nothing was written')
})

t.test('a package is imported once, and again where that failed', async t => {
  const late = join(t.testdir(), 'late.mjs')
  const answer = answerOf(bundleIn(t.testdir(), 'e5f6', `exports.answer = async () => {
    const same = importModule('node:os') === importModule('node:os')
    const failed = await importModule(${JSON.stringify(late)}).catch(({ code }) => code)
    require('node:fs').writeFileSync(${JSON.stringify(late)}, 'export const there = true')
    return [same, failed, (await importModule(${JSON.stringify(late)})).there]
  }`))
  t.same(answer, [true, 'ERR_MODULE_NOT_FOUND', true])
})

t.test('code that V8 does not take is written anew', async t => {
  const directory = t.testdir()
  const path = bundleIn(directory)
  answerOf(path)
  const inode = inodeOf(directory)
  truncateSync(join(directory, '.compile-cache', cacheIn(directory)[0] ?? ''), 100)
  t.match(answerOf(path), { platform: process.platform })
  t.not(inodeOf(directory), inode)
})

t.test('the code of an earlier build is neither used nor kept', async t => {
  const directory = t.testdir()
  answerOf(bundleIn(directory))
  const sameLength = body.replace('platform: ', 'platfora: ')
  t.match(answerOf(bundleIn(directory, 'c3d4', sameLength)), { platfora: process.platform })
  t.same(cacheIn(directory), [`start-c3d4-${process.version}-${process.arch}`])
})

t.test('nothing is left of code that could not be put into its place', async t => {
  const name = `start-a1b2-${process.version}-${process.arch}`
  const directory = t.testdir({ '.compile-cache': { [name]: { 'a-file': '' } } })
  t.match(answerOf(bundleIn(directory)), { platform: process.platform })
  t.same(cacheIn(directory), [name])
})

t.test('a start goes on where its code cannot be written', async t => {
  const directory = t.testdir({ '.compile-cache': 'a file' })
  t.match(answerOf(bundleIn(directory)), { platform: process.platform })
  t.ok(existsSync(join(directory, '.compile-cache')))
})

t.test('the bytes of the file do not wait for a collection', async t => {
  const megabytes = 10
  const source = `/*${' '.repeat(megabytes * 1e6)}*/exports.answer = async () => process.memoryUsage().rss`
  const usual = Number(answerOf(bundleIn(t.testdir(), 'a1b2', 'exports.answer = async () => process.memoryUsage().rss')))
  const more = Number(answerOf(bundleIn(t.testdir(), 'c3d4', source))) - usual
  t.ok(more < 1.5 * megabytes * 1e6, `${more} bytes: the text, and not what it was made of`)
})
