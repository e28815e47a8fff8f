/**
 * Makes `build/start.js` of the compiled modules: `headgate start` and the packages that every start needs, in
 * one file. Packages that few calls need stay packages, and are loaded when one does. Before it the command itself,
 * `build/headgate.cjs`, and afterwards the page of the dashboard.
 *
 * Beside it `build/THIRD-PARTY-LICENSES.txt`, the licenses of the packages inside.
 */

import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { bundlePage } from './bundle-page.mjs'
import { writeSchemaChecks } from './schema-checks.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const outfile = join(root, 'build/start.js')

/** Native, or not needed by most starts. */
const external = [
  '@modelcontextprotocol/client', '@photostructure/sqlite', 'ajv', 'file-type', 'gpt-tokenizer', 'ioredis', 'koa-body', 'openid-client',
  'pg', 'sharp', 'undici', 'unpdf'
]

/** Keeps `import.meta` what it is for each module: the place of its own file, not that of the bundle. */
const ownPlaces = {
  name: 'own-places',
  setup ({ onLoad }) {
    onLoad({ filter: /[\\/]build[\\/](?:lib|pipelines|schemas)[\\/].*\.js$/ }, ({ path }) => {
      const place = relative(dirname(outfile), path).replaceAll('\\', '/')
      const contents = readFileSync(path, 'utf8')
        .replace(/createRequire\(import\.meta\.url\)(?=\(')/g, 'require') // so that it is found, or left out
        .replaceAll('import.meta.url', `new URL(${JSON.stringify(`./${place}`)}, bundleUrl).href`)
        .replaceAll('import.meta.dirname', `(bundleDirectory + ${JSON.stringify(`/${dirname(place)}`)})`)
      return { contents, loader: 'js' }
    })
  }
}

/** Delays Koa's table of media types (2 MB, 8 ms) until a call needs it. Koa's packages share its version, the newest. */
const mediaTypesLater = {
  name: 'media-types-later',
  setup ({ onResolve, onLoad }) {
    const require = createRequire(createRequire(import.meta.url).resolve('koa'))
    onResolve({ filter: /^mime-types$/ }, () => ({ path: 'mime-types', namespace: 'later' }))
    onLoad({ filter: /.*/, namespace: 'later' }, () => {
      const names = Object.entries(require('mime-types')).map(([name, value]) => typeof value === 'function'
        ? `exports.${name} = (...given) => load().${name}(...given)`
        : `Object.defineProperty(exports, '${name}', { enumerable: true, get: () => load().${name} })`)
      return { contents: `const load = () => require(${JSON.stringify(require.resolve('mime-types'))})\n${names.join('\n')}`, resolveDir: root }
    })
  }
}

const { readCatalogue } = await import(pathToFileURL(join(root, 'build/lib/models/catalogue.js')).href)
readCatalogue(JSON.parse(readFileSync(join(root, 'build/lib/models/catalogue.json'), 'utf8')))

const checks = await writeSchemaChecks(root)

// One file for `require`, instead of twelve modules to find and read first: saves 9 ms of each command.
const { metafile: { inputs: ofCommand } } = await build({
  absWorkingDir: root,
  entryPoints: ['build/lib/main.js'],
  outfile: join(root, 'build/headgate.cjs'),
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node16', // so that Node.js 16 and 18 can say that they are too old
  metafile: true,
  banner: { js: "'use strict'; const bundleDirectory = __dirname; const bundleUrl = require('node:url').pathToFileURL(__filename).href" },
  logLevel: 'error',
  plugins: [ownPlaces, {
    name: 'imported-later',
    setup ({ onResolve }) {
      onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => kind === 'dynamic-import'
        ? { path: `./${relative(dirname(outfile), join(resolveDir, path)).replaceAll('\\', '/')}`, external: true }
        : undefined)
    }
  }]
})

const { metafile, outputFiles: [{ text }] } = await build({
  absWorkingDir: root,
  stdin: {
    contents: `import ${JSON.stringify(checks)}\nexport * from './build/lib/cli/run-start.js'`,
    resolveDir: root
  },
  outfile,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  write: false,
  target: 'node20.20',
  external,
  legalComments: 'none',
  // Names stay, for stack traces; lines stay short enough to find a column in.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 120,
  logLevel: 'error',
  metafile: true,
  plugins: [ownPlaces, mediaTypesLater]
})

// A function, as `process/load-bundle` calls it: a script that V8 has compiled before knows no `import()`.
const code = text.replace(/(?<![.\w])import\((?=")/g, 'importModule(')
const bundle = `(function (exports, require, module, importModule, bundleUrl, bundleDirectory) {'use strict';${code}})\n`

// One letter beyond Latin-1 has V8 keep the source with two bytes a character: 2 MB of memory more.
const beyondLatin1 = /[^\0-\xff]/.exec(bundle)
if (beyondLatin1 !== null) throw new Error(`the bundle contains ${JSON.stringify(beyondLatin1[0])}: write it as an escape`)
writeFileSync(outfile, `/* ${createHash('sha256').update(bundle).digest('hex')} */${bundle}`, 'latin1')

const inputs = [...Object.keys(ofCommand), ...Object.keys(metafile.inputs), ...await bundlePage(root)]
const packages = new Set(inputs.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []))
writeFileSync(join(root, 'build/THIRD-PARTY-LICENSES.txt'), [...packages].toSorted().map(license).join(`\n${'-'.repeat(80)}\n\n`))

function license (directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'))
  const file = readdirSync(join(root, directory)).find(file => /^licen[cs]e/i.test(file))
  const text = file === undefined ? '' : `\n${readFileSync(join(root, directory, file), 'utf8').trim()}\n`
  return `${name} ${version} (${license})\n${text}`
}
