/** Filters for placeholders: one escapes lookalikes, the other restores values. */

import { maxTagLength, minTagLength } from './keyed-placeholders.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { ReplaceText, TextPlace } from '../json/place-table.ts'
import { replaceFindings, type PlaceFilters, type TextEdit, type TextFilter } from './text-filter.ts'

/** Maximum characters of a label, which is the name of a pattern. */
const maxLabelLength = 64

const lookalike = /<[A-Z\d][A-Z\d_]{0,63}_[a-z2-7]{8,32}>/g

/**
 * Replaces text that looks like a placeholder with a placeholder of that text, so that it is never replaced
 * by a value. Texts that cannot be changed, such as signed thinking, are skipped.
 */
export class LookalikeFilter implements TextFilter {
  readonly reach = maxLabelLength + maxTagLength + '<_>'.length + 1
  readonly alters = true
  readonly #placeholders: Placeholders
  readonly #keepsOwn: boolean

  /** @param keepsOwn true to leave placeholders of the call alone: tool servers repeat their input */
  constructor (placeholders: Placeholders, keepsOwn = false) {
    this.#placeholders = placeholders
    this.#keepsOwn = keepsOwn
  }

  find (text: string, from: number, until: number): readonly TextEdit[] {
    const edits: TextEdit[] = []
    if (!text.includes('<', from)) return edits
    lookalike.lastIndex = from
    for (let found = lookalike.exec(text); found !== null; found = lookalike.exec(text)) {
      const { 0: name, index: start } = found
      if (start >= until) break
      if (this.#placeholders.isJoined(name)) continue
      if (this.#keepsOwn && this.#placeholders.valueOf(name) !== undefined) continue
      edits.push({ start, end: start + name.length, replacement: this.#placeholders.nameOf('text', name) })
    }
    return edits
  }
}

/**
 * Finds placeholders as models repeat them: in another case, with spaces or hyphens for `_`, escaped for
 * Markdown or HTML, or without brackets.
 */
export class PlaceholderFilter implements TextFilter, PlaceFilters {
  readonly alters = true
  readonly #placeholders: Placeholders
  #labels = 0
  #expression = /(?!)/g
  #reach = 1

  constructor (placeholders: Placeholders) {
    this.#placeholders = placeholders
  }

  get reach (): number {
    this.#prepare()
    return this.#reach
  }

  find (text: string, from: number, until: number): readonly TextEdit[] {
    this.#prepare()
    const edits: TextEdit[] = []
    const expression = this.#expression
    expression.lastIndex = from
    for (let found = expression.exec(text); found !== null; found = expression.exec(text)) {
      const [match, ...parts] = found
      if (found.index >= until) break
      const [label = '', tag = ''] = parts.filter(part => part !== undefined)
      const name = `<${label.toUpperCase().replaceAll(/\\?[_ -]/g, '_')}_${tag.toLowerCase()}>`
      const value = this.#placeholders.valueOf(name)
      if (value === undefined) expression.lastIndex = found.index + 1
      else edits.push({ start: found.index, end: found.index + match.length, replacement: value })
    }
    return edits
  }

  at ({ kind }: TextPlace): TextFilter | undefined {
    switch (kind) {
      case 'fixed': return undefined
      case 'json': return new PartOfJson(this)
      default: return this
    }
  }

  readonly replace: ReplaceText = (text, place) => {
    const filter = this.at(place)
    return filter === undefined ? text : replaceFindings(filter, text)
  }

  /** Tool results may add labels during an answer. */
  #prepare (): void {
    const { labels } = this.#placeholders
    if (labels.size === this.#labels) return
    this.#labels = labels.size
    const longest = Math.max(...[...labels].map(label => label.length))
    const names = [...labels].map(label => label.replaceAll('_', '\\\\?[_ -]')).join('|')
    const name = `(${names})\\\\?[_ -]([a-z2-7]{${minTagLength},${maxTagLength}})`
    // A single bracket belongs to the surrounding text.
    const forms = [
      `< ?${name} ?>`, `\\\\< ?${name} ?\\\\>`, `&lt; ?${name} ?&gt;`, `(?<![a-z\\d])${name}(?![a-z\\d])`
    ]
    this.#expression = new RegExp(forms.join('|'), 'gi')
    this.#reach = 2 * longest + maxTagLength + '&lt; \\_ &gt;'.length + 1
  }
}

/** Finds placeholders in incomplete JSON; values are escaped as in a JSON string. */
class PartOfJson implements TextFilter {
  readonly alters = true
  readonly #filter: PlaceholderFilter

  constructor (filter: PlaceholderFilter) {
    this.#filter = filter
  }

  get reach (): number {
    return this.#filter.reach
  }

  find (text: string, from: number, until: number): readonly TextEdit[] {
    return this.#filter
      .find(text, from, until)
      .map(edit => ({ ...edit, replacement: JSON.stringify(edit.replacement).slice(1, -1) }))
  }
}
