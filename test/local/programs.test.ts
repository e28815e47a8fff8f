import { accessSync, constants } from 'node:fs'
import { basename, isAbsolute } from 'node:path'
import t from 'tap'
import { localPrograms } from '../../lib/local/programs.ts'

t.test('programs are found if executable and in the folders of package managers', async t => {
  const programs = await localPrograms()
  const names = { tesseract: ['tesseract'], pdftoppm: ['pdftoppm'], espeak: ['espeak-ng', 'espeak'] }
  for (const [name, path] of Object.entries(programs)) {
    t.ok(isAbsolute(path) && names[name as keyof typeof names].includes(basename(path)), path)
    t.doesNotThrow(() => accessSync(path, constants.X_OK))
  }
})

t.test('the PATH, which a caller may have influenced, is ignored', async t => {
  const before = process.env['PATH']
  t.teardown(() => { process.env['PATH'] = before })
  const directory = t.testdir({ tesseract: t.fixture('file', '#!/bin/sh\n') })
  const found = await localPrograms()
  process.env['PATH'] = directory
  t.same(await localPrograms(), found)
})
