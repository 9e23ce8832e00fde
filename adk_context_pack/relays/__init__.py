"""Other agents' events as ADK relays them: proving, finding and retelling them."""
