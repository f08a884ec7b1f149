"""What a pattern of java.util.regex may cost, told before anything is matched."""
