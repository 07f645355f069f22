//! Counts the tokens of a request, without asking the model.

use ptk::llm::Message;

use super::Exchange;
use super::plan::Plan;
use crate::failure::Failure;
use crate::route::Route;

impl Exchange<'_> {
    /// How many tokens the first request to the model would have.
    ///
    /// # Errors
    ///
    /// If there is no model, or it cannot be sent this request.
    pub(crate) async fn tokens(&self) -> Result<u64, Failure> {
        let first = self.route.in_turn().next();
        let routed = first.ok_or_else(Route::nobody)?;
        let name = self.route.name_for(self.chat);
        routed.candidate.learn(name).await;
        let approach = routed.approach(name, self.gateway.mode, &*self.gateway.memory);
        let plan = Plan::new(self.gateway, self.chat, &routed.candidate, &approach, true);
        let request = plan.await?.request;
        let model = request.model.as_deref();
        let passthrough = routed.candidate.provider().model();
        let counter = ptk::tokens_of(model.or(passthrough).or(Some(&self.chat.model)));
        let count = |text: &str| counter.count(text);
        let mut tokens = request.system.as_deref().map_or(0, count);
        for tool in request.tools.iter() {
            tokens += count(&tool.name) + count(&tool.description);
            tokens += count(&tool.parameters.to_string());
        }
        for message in request.turns() {
            tokens += count(message.text());
            if let Message::Assistant { calls, .. } = message {
                let calls = calls.iter();
                let calls = calls.map(|call| count(&call.name) + count(&call.args.to_json()));
                tokens += calls.sum::<u64>();
            }
        }
        Ok(tokens)
    }
}
