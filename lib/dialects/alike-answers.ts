import { remembered } from '../text/remembered.ts'
import type { AlikeAnswer, AnswerTemplate } from '../core/events.ts'

/** Prints answers of providers of the caller's dialect that are alike, without looking through each. */
export class AlikeAnswers {
  readonly #shown = new WeakMap<AnswerTemplate, (model: string) => { print?: ReturnType<AnswerTemplate['changed']> }>()

  /**
   * Returns an answer as its caller gets it; `undefined` where it has to be looked through.
   *
   * @param model the name of the model for the caller
   * @param show returns any answer of this kind for this model; `undefined` where more than the model decides what is changed
   */
  print ({ template, values }: AlikeAnswer, model: string, show: (json: string) => string | undefined): string | undefined {
    let known = this.#shown.get(template)
    if (known === undefined) this.#shown.set(template, known = remembered(() => ({})))
    const shown = known(model)
    if (!('print' in shown)) shown.print = template.changed(show)
    return shown.print?.(values)
  }
}
