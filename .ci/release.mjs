/**
 * Makes the files of a release, and prints the commands that publish them, which it does not run:
 *
 *     npm run release -- --out DIR [--key FILE] [--image NAME] [--dry-run]
 *
 * `DIR` gets the package (`headgate-VERSION.tgz`), its components as CycloneDX (`.cdx.json`), where it comes from
 * (`.provenance.json`), `SHA256SUMS` and, with the private key of `--key`, its signature by `ssh-keygen`.
 *
 * A release is of a clean clone at the tag of its version, and is built twice, the second time in a clone elsewhere: both packages must
 * be the same. Packages with native code must have it for both platforms of the image (`platforms.mjs`). `--dry-run` lists what is missing for a release instead of failing, and packs what is built.
 * Exits with 1 when something is missing or differs. See docs/releases.md.
 */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values: { out: folder, key, image, 'dry-run': isDryRun } } = parseArgs({
  options: {
    out: { type: 'string' },
    key: { type: 'string' },
    image: { type: 'string', default: 'registry.example.com/headgate' },
    'dry-run': { type: 'boolean', default: false }
  }
})
if (folder === undefined) stop('release: --out DIR is missing: a folder for the files, which is made.')
const out = resolve(folder)
if (existsSync(out)) stop(`release: ${folder} exists: name a new folder.`)

const { name, version } = JSON.parse(read('package.json'))
const commit = run(root, 'git', 'rev-parse', 'HEAD').trim()
const commitSeconds = Number(run(root, 'git', 'log', '-1', '--format=%ct').trim())
const date = new Date(commitSeconds * 1000).toISOString()

const missing = missingForRelease()
for (const sentence of missing) process.stderr.write(`release: ${sentence}\n`)
if (missing.length > 0 && !isDryRun) process.exit(1)

mkdirSync(out, { recursive: true })
if (!isDryRun) {
  run(root, process.execPath, '.ci/platforms.mjs')
  run(root, 'npm', 'run', '--silent', 'build')
}
const archive = pack(root, out)
const again = isDryRun ? packedAgain(root) : builtElsewhere()
if (digestOf(join(out, archive)) !== again) stop(`release: packed again, ${archive} is another file.`)

const base = archive.replace(/\.tgz$/, '')
writeJson(`${base}.cdx.json`, components())
writeJson(`${base}.provenance.json`, provenance())
const files = [archive, `${base}.cdx.json`, `${base}.provenance.json`]
writeFileSync(join(out, 'SHA256SUMS'), files.map(file => `${digestOf(join(out, file))}  ${file}\n`).join(''))
if (key !== undefined) run(root, 'ssh-keygen', '-q', '-Y', 'sign', '-n', 'headgate-release', '-f', resolve(key), join(out, 'SHA256SUMS'))
process.stdout.write(nextSteps())

/** Returns what a release needs and is not there, a sentence each. */
function missingForRelease () {
  const tag = `v${version}`
  const tags = run(root, 'git', 'tag', '--points-at', 'HEAD').split('\n')
  const chart = read('examples/chart/Chart.yaml')
  return [
    [run(root, 'git', 'status', '--porcelain') === '', 'there are changes that are not committed.'],
    [tags.includes(tag), `the commit has no tag ${tag}.`],
    [new RegExp(`^## ${version.replaceAll('.', '\\.')} - \\d{4}-\\d{2}-\\d{2}$`, 'm').test(read('CHANGELOG.md')), `CHANGELOG.md has no heading "## ${version} - DATE".`],
    [[...chart.matchAll(/^(?:version|appVersion): (\S+)$/gm)].every(([, found]) => found === version), `examples/chart/Chart.yaml has another version than ${version}.`],
    [key !== undefined, 'there is no --key FILE to sign with.']
  ].flatMap(([isThere, sentence]) => isThere ? [] : [sentence])
}

/** Packs what is built in a clone. @returns the name of the file */
function pack (from, to) {
  const [{ filename }] = JSON.parse(run(from, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', to))
  return filename
}

function packedAgain (from) {
  return inScratch(scratch => digestOf(join(scratch, pack(from, scratch))))
}

/** Builds the commit in another folder, from its lock file. @returns the digest of the package */
function builtElsewhere () {
  return inScratch(scratch => {
    const clone = join(scratch, 'another-folder')
    run(root, 'git', 'clone', '--quiet', '--no-hardlinks', root, clone)
    run(clone, 'git', 'checkout', '--quiet', commit)
    run(clone, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
    run(clone, 'npm', 'run', '--silent', 'build')
    return digestOf(join(clone, pack(clone, clone)))
  })
}

function inScratch (work) {
  const scratch = mkdtempSync(join(tmpdir(), 'headgate-release-'))
  try {
    return work(scratch)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * Returns the components as CycloneDX: the dependencies of the lock file, and the development dependencies whose code is in the
 * package, which `THIRD-PARTY-LICENSES.txt` lists. Without what differs from run to run.
 */
function components () {
  const all = JSON.parse(run(root, 'npm', 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'))
  const needed = installed()
  const bundled = [...read('build/THIRD-PARTY-LICENSES.txt').matchAll(/^(\S+) (\d\S*) \(/gm)].map(([, package_, its]) => `${package_}@${its}`)
  for (const each of bundled) needed.add(each)
  const kept = all.components.filter(component => needed.has(component['bom-ref']))
  const lost = bundled.filter(each => !kept.some(component => component['bom-ref'] === each))
  if (lost.length > 0) stop(`release: the package holds code of ${lost.join(', ')}, which the lock file does not have.`)
  const refs = new Set([...kept.map(component => component['bom-ref']), `${name}@${version}`])
  const { component } = all.metadata
  return {
    ...all,
    serialNumber: `urn:uuid:${uuidOf(digestOf(join(out, archive)))}`,
    metadata: { ...all.metadata, timestamp: date, component: { ...component, name } },
    components: kept,
    dependencies: all.dependencies.filter(({ ref }) => refs.has(ref)).map(({ ref, dependsOn = [] }) => (
      { ref, dependsOn: dependsOn.filter(each => refs.has(each)) }
    ))
  }
}

/** Lists what `npm ci --omit=dev` installs. `npm sbom --omit=dev` leaves out what a development dependency needs as well. */
function installed () {
  const entries = Object.entries(JSON.parse(read('package-lock.json')).packages)
  return new Set(entries.filter(([path, { dev }]) => path !== '' && dev !== true).map(([path, entry]) => (
    `${entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${entry.version}`
  )))
}

/** Returns a statement of in-toto with a predicate of SLSA: from what, and how, the package was built. */
function provenance () {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: archive, digest: { sha256: digestOf(join(out, archive)) } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:headgate:release-script:1',
        externalParameters: { script: '.ci/release.mjs', tag: `v${version}`, dryRun: isDryRun },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: digestOf(join(root, 'package-lock.json')) } }
        ]
      },
      runDetails: {
        builder: { id: 'urn:headgate:maintainer', version: { node: process.version, npm: run(root, 'npm', '--version').trim() } }
      }
    }
  }
}

/** The commands that publish: names on registries are the owner's to take. */
function nextSteps () {
  const build = [
    `SOURCE_DATE_EPOCH=${commitSeconds} docker buildx build --platform linux/amd64,linux/arm64`,
    '--sbom=true --provenance=mode=max --file examples/deployment/Dockerfile',
    `--label org.opencontainers.image.version=${version} --label org.opencontainers.image.revision=${commit}`,
    `--tag ${image}:${version} --output type=image,push=true,rewrite-timestamp=true .`
  ].join(' \\\n    ')
  return `${files.concat('SHA256SUMS', key === undefined ? [] : 'SHA256SUMS.sig').map(file => `${join(folder, file)}\n`).join('')}
To publish, in this order:

  npm publish ${join(folder, archive)}
  ${build}
  docker buildx imagetools inspect ${image}:${version}
  helm package examples/chart --destination ${folder}
  git push origin v${version}
`
}

function digestOf (path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/** Returns a UUID (version 8) of a digest. */
function uuidOf (digest) {
  const hex = `${digest.slice(0, 12)}8${digest.slice(13, 16)}8${digest.slice(17, 32)}`
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function writeJson (file, value) {
  writeFileSync(join(out, file), `${JSON.stringify(value, null, 2)}\n`)
}

function read (file) {
  return readFileSync(join(root, file), 'utf8')
}

function run (cwd, command, ...args) {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    return stop(`release: ${command} ${args.join(' ')}: ${error.stderr || error.message}`)
  }
}

function stop (message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
