import { memoized } from '../text/memoized.ts'
import type { AlikeAnswer, AnswerTemplate } from '../core/events.ts'

/** Prints answers of providers of the caller's dialect that are alike, without looking through each. */
export class TemplatePrinter {
  readonly #shown = new WeakMap<AnswerTemplate, (model: string) => { print?: ReturnType<AnswerTemplate['changed']> }>()

  /**
   * Prints an answer as its caller gets it, of its values; `undefined` where its text has to be changed by itself.
   *
   * @param model the name of the model for the caller
   * @param show changes the text of an answer for the caller, in one way for all of a template and a model; returns `undefined`
   *   where the change depends on more
   */
  print ({ template, values }: AlikeAnswer, model: string, show: (json: string) => string | undefined): string | undefined {
    let known = this.#shown.get(template)
    if (known === undefined) this.#shown.set(template, known = memoized(() => ({})))
    const shown = known(model)
    if (!('print' in shown)) shown.print = template.changed(show)
    return shown.print?.(values)
  }
}
